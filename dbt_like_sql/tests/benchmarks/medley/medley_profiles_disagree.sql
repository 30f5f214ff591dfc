-- Pulls and changes of a profile are those on the board.
select profile.scoring, profile.model, est.measure, est.estimate, profile.adversarial_delta, profile.stripped_delta,
    profile.crowd_pull, profile.argument_pull
from medley_profiles as profile
inner join estimates as est using (dataset, scoring, model, source)
where est.benchmark = 'medley' and abs(
    est.estimate - case est.measure
        when 'adversarial_delta' then profile.adversarial_delta
        when 'stripped_delta' then profile.stripped_delta
        when 'pull_crowd' then profile.crowd_pull
        when 'pull_arguments' then profile.argument_pull
    end
) > 1e-9
