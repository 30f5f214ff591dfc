-- The changes of a profile are those on the board.
select profile.scoring, profile.model, est.measure, est.estimate, profile.adversarial_delta, profile.stripped_delta
from medley_profiles as profile
inner join estimates as est using (dataset, scoring, model, source)
where est.benchmark = 'medley' and abs(
    est.estimate - case est.measure
        when 'adversarial_delta' then profile.adversarial_delta
        when 'stripped_delta' then profile.stripped_delta
        when 'adversarial_delta_behaviour' then profile.adversarial_behaviour
        when 'stripped_delta_behaviour' then profile.stripped_behaviour
    end
) > 1e-9
