"""From a source, or from seeds, to instances whose analysts disagree.

==================  ==================================================================================================
``pipeline``        the stages, once for all sets; ``authored``: how new instances pass them, ``given``: published ones
``steps``           every step of making new instances, as a function of frames; ``tables``: the frames
``roles``           who designs, rates and verifies; ``simulated_authors``: those of the sample, and any other
``asked``           what designers, analysts and verifiers are asked, and how replies are read; ``wording``: the words
``drafts``          seeds, and cases before anybody judged them; ``filters``: difficulty, and whether a case is open enough
``ratings``         labels of analysts as ranks and positions
``disagreement``    how much a pool disagrees about a claim
``consensus``       three rules of what it says together; ``selection``: the panel of eight
``verification``    whether the consensus is right, by three judges
``gates``           what must hold for any set, and whether one may be released; ``probes``: who is also asked otherwise
``published``       reading the layout of the published data; ``layout``: writing it
``reproduction``    what of the published construction follows from its own parts
==================  ==================================================================================================
"""
