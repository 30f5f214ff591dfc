"""From a source, or from seeds, to instances whose analysts disagree.

==================  ==================================================================================================
``pipeline``        the stages, once for all sets; ``authored``: how new instances pass them, ``given``: published ones;
                    ``finished``: the last stage of both
``steps``           every step of making new instances, as a function of frames; ``tables``: the frames
``roles``           who designs, rates and verifies; ``simulated_authors``: those of the sample, and any other
``designs``         asking designers for a case; ``pool``: asking the analysts; ``verdicts``: asking the verifiers;
                    ``wording``: in which words
``drafts``          a case before anybody judged it; ``filters``: difficulty, and whether a case is open enough
``ratings``         labels of analysts as ranks and positions
``disagreement``    how much a pool disagrees about a claim
``consensus``       three rules of what it says together; ``selection``: the panel of eight
``verification``    whether the consensus is right, by three judges
``assembly``        a draft and what was said of it → an instance
``gates``           whether a set is fit to be released; ``invariants``: what must hold for any; ``probes``: who is
                    also asked otherwise
``published``       reading the layout of the published data; ``layout``: writing it
``reproduction``    what of the published construction follows from its own parts
==================  ==================================================================================================
"""
