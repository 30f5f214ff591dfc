"""The words around an option that take it, deny it, or pass it by.

Each pattern is tried on what stands before an option, of which it meets the end, or on what stands behind it, of which it
meets the beginning. What stands between is short, so that each is linear.
"""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.clauses import CORRECTION
from metacog_pipeline.benchmark.answers.sureness import ANSWER

_CLOSES = r"[)\]\"']*"
_OPENS = r"[\"'(\[]*"
_FALSE = r"(?:wrong|incorrect|false|untrue|out|(?:ruled|crossed) out|eliminated|excluded|discarded|rejected|dismissed)"
_NO_IS = r"(?:(?:is|are|was|were|does|do|did|would|can|could|may|might|has|have) ?(?:not|n't)|cannot|can't|isn't|aren't)"
_SO = (
    r"(?:\b(?:so(?! (?:is|are|does|do|was)\b)|thus|hence|therefore|donc|por (?:lo )?tanto|entonces|deshalb|daher|folglich"
    r"|quindi|logo)\b,?|所以|因此|따라서)"
)
_IS = (
    r"(?:(?:is|was|are|to be|remains|(?:would|will|must|should|can only|could only|has to) be|es|est|ist|sería|serait"
    r"|wäre|war|è|é|är)\b|[:=-]|是|为|為|은|는|이|が|は)"
)
_CALLED = (
    rf"(?:(?<![A-Za-z]){ANSWER}|\b(?:choice|option|pick|selection|letter|decision|verdict|conclusion|opci[oó]n|choix)"
    r"|正解|解答|选项)"
)
# What may stand between a choice and its option: a few words that give no reason and name no other.
_LIGHT = (
    r"(?:(?!\b(?:because|since|as|while|whereas|than|but|not|and|or|between|if|although|though|weil|porque)\b)"
    r"[^.;,:\n]){0,24}"
)
_GAP = r"(?:(?! - )[^,.;:\n]){0,60}\Z"

#: What begins a new thought, to which a denial before it does not reach.
TURN = re.compile(
    r"\b(?:so(?! (?:is|are|does|do|was)\b)|but|hence|therefore|thus|however|(?<=, )yet|because|since"
    r"|sino|pero|sondern|aber)\b",
    re.I,
)
#: Before an option that is not taken, whatever else is said: "I would not pick B", "unclear whether B", "wrong: A".
DENIED = re.compile(
    r"(?:\b(?:not|never|nor|neither|cannot|unclear|unsure|uncertain|whether|no need|nicht|kein|pas|non"
    rf"|(?<!no )(?<!a )(?<!out )(?<!any )doubt(?:ful)?)\b|n't\b){_GAP}"
    r"|\b(?:could be|may be|might be|possibly)[^.;\n]{0,12}[:,] \Z"
    rf"|(?<!'s )(?<!is )\b{_FALSE}(?: \w{{1,12}})?:[ ]?\Z"
    r"|\b(?:chang|switch|mov|revis)\w{1,3}[^.;,\n]{0,30} from \Z|\bnone of (?:the )?[(\"']?\Z"
    r"|\bso (?:is|are|does|do|was) \Z|(?:不是|并非|而非|不选|排除|除了)[^,。;\n]{0,10}\Z",
    re.I,
)
#: Before an option that is not taken, unless it is called the choice: "while D is close the answer is B".
SET_ASIDE = re.compile(
    r"\b(?:although|though|while|whereas|rather than|instead of|unlike|despite|over|contrary to|in contrast (?:to|with)"
    rf"|as opposed to|as \w+ as|except|exclud\w+|ruled? out|eliminat\w+|discard\w*|reject\w*)\b{_GAP}",
    re.I,
)
#: Behind an option that is called wrong.
WRONG = re.compile(
    rf" (?:is|are|was|were)(?: (?:all|both|also|just|\w{{1,12}}ly)){{0,2}} (?:{_FALSE}|too strong)\b"
    rf"| {_NO_IS}(?: be)?(?: \w{{1,12}}ly)?"
    r" (?:right|correct|true|it\b|the (?:right|correct|best|answer)|possible|valid|an option)"
    rf"| can(?: all| both)? be {_FALSE}\b|[ ]?[:(=-][ ]?(?:no\b(?![ -]\w)|(?:wrong|incorrect|false)\b)|[ ]no\b(?![ -]\w)"
    r"|[가이는은]? ?(?:아니|틀렸)|(?:では|じゃ)な",
    re.I,
)
#: Behind an option that is called wrong, or of which something is denied.
FAILS = re.compile(
    rf"{WRONG.pattern}"
    r"| would (?!be (?:my|the|best|right|correct|fine)|work|do\b|suit)"
    r"| (?:ignores?|overlooks?|misses|skips|neglects|overstates?|overgenerali[sz]\w*)\b"
    r"|[ :)*-]{1,4}(?:no\b|out\b)"
    rf"|[^.,;:\n]{{0,24}}?\b(?:{_NO_IS}|doesn't|don't|overgeneral\w*|fails?|wrong|incorrect|false|ruled out|eliminated"
    r"|too strong|go(?:es)? too far|need not)\b",
    re.I,
)
REFUTED = re.compile(rf"\b{_FALSE}\b", re.I)
IS_NOT = re.compile(r" (?:is|are) not\b| isn't\b| aren't\b")
#: "everything but B is wrong", "nothing but B fits"
ALL_BUT = re.compile(
    r"\b(?:(?P<none>none|nothing|no)|all|everything|every|any|anything)(?: \w{1,12}){0,3}?"
    r" (?:but|except(?: for)?|other than) (?:option )?\Z",
    re.I,
)
ASKED = re.compile(r"[^.!?;\n]{0,80}\?(?!\W{0,9}(?:yes|yeah|yep|right|correct)\b)", re.I)
ASKED_AND_DENIED = re.compile(
    r"[^.!?;\n]{0,80}\?\W{0,9}(?:no(?! (?:doubt|question))|nope|not|i doubt|unlikely|hardly|too)\b", re.I
)
#: What is thought of first, by others, or in another case: "I first thought D", "the next best is D".
DOUBTED = re.compile(
    r"\b(?:at first|initially|originally|first (?:glance|thought|leaned|picked|said|guess\w*|chose)|instinct|gut"
    r"|intuition|almost \w{1,10}|nearly \w{1,10}|tempt\w{2,4}|another|next|other(?! hand)|runner-up"
    r"|second[ -](?:best|most|choice|\w{2,8}est)|(?<!'s )(?<!is )(?:wrong|incorrect)|(?:wrong|incorrect|mistaken)ly"
    r"|common(?:ly)?|popular|often|usually|(?:was|were) (?:going|about) to"
    r"|(?:many|most|some|people|others|one|you) (?:\w{1,12} ){0,3}?(?:say|think|choose|pick|answer|guess|expect))\b"
    r"[^.;\n]{0,40}\Z"
    r"|\b(?:could|may|might)(?: \w{1,9})?? (?:be|choose|pick|say|think|select|answer|seem|look)\b[^.;,:\n]{0,20}\Z"
    r"|\b(?:if (?!i\b|you\b|one\b|we\b|pushed|forced|in doubt)|had (?:the|it|this)\b)"
    r"[^.;\n]{0,60}(?:\bwould\b|'d\b)[^.;\n]{0,30}\Z",
    re.I,
)
#: "D is tempting", "Earth is only fifth", "D if it were about density"
SLIGHTED = re.compile(
    rf"{_CLOSES}(?:,? (?:is|are|was|looks|seems|may be|sounds|comes|ranks)(?: \w{{1,9}})?"
    r" (?:tempting|plausible|possible|attractive|prudent|appealing|close|only|merely|too|less|unlikely|improbable)\b"
    r"| ?[(,:-] ?(?:less likely|unlikely|possible)\b| if (?!i\b|you\b|forced|pushed|pressed|anything|only\b|not\b))"
)
#: An option is called the choice: "the correct answer is B", "I pick B", "Answer: B".
CHOSEN = re.compile(
    rf"(?:{_CALLED}(?: \w{{1,14}}){{0,3}}?[ ]?{_IS}"
    r"|\b(?:right|correct|best|better|closest|true|most \w{1,14})(?: \w{1,14}){0,2} (?:is|are|would be)\b"
    r"|\b(?:right|correct|true|selected|final)[ ]?:"
    r"|\b(?:choos\w{1,3}|chose|pick(?:ing|ed)?|select(?:ing|ed)?|go(?:ing)? (?:with|for)|went with|opt(?:ing)? for"
    r"|settl(?:e|ed|ing) (?:on|for)|stick(?:ing)? (?:with|to)|vot(?:e|ing|o)|recommend|leav(?:es|ing)|left with"
    r"|(?:would|will|'d|'ll|to) answer|elijo|escojo|choisis|wähle|scelgo|escolho)\b|选择?|選|고르"
    r"|\b(?:chang|revis|correct|switch)\w{0,3}(?: \w{1,9}){0,3} to\b"
    r"|^\W{0,9}(?:my |the |so )?(?:final |correct |right |best )?(?:answer|choice))"
    rf"{_LIGHT}(?:[:→]\s*)?[\"'(\[\s]*\Z",
    re.I | re.M,
)
#: An option is said; it is taken where no remark on it follows: "so B", "I think B".
SAID = re.compile(
    rf"(?:{_SO}|\b(?:say|think|believe|guess|suspect|take|prefer|lean(?:ing)?|meant?|make it"
    r"|it(?:'s| is| was| must be| has to be| should be)|this(?: one)? is|that(?:'s| is| would be)|(?:must|has to) be"
    r"|c'est|creo que)\b,?|是|认为|觉得|(?:\bnot\b|n't\b)[^.;\n]{1,40}\bbut\b|[→⇒])"
    rf"{_LIGHT}[\"'(\[\s]*\Z",
    re.I,
)
#: Behind an option that is said for itself and is not the subject of a remark: "so B", not "so D is smaller".
FREE = re.compile(
    rf"{_CLOSES}(?! ?[a-z])|{_CLOSES} (?:because|since|as|for|given|and|but|or|over|rather|with|here|then|please|too|by"
    r"|due|in|from|unless|though|although|while|without|when|where|if|it|wins|follows|holds|fits|must|on|to|just|not|at"
    r"|after|among|of|actually|instead|indeed|is the (?:right|correct|best|answer|one)|is (?:right|correct|it))\b"
)
FOLLOWS = re.compile(rf"(?P<begins>(?:\A|[.!?;\n])[ ]?)?{_SO}{_LIGHT}\Z", re.I)
BARE = re.compile(rf"(?:\A|[.,;:!?\n]|\bbut) ?{_OPENS}\Z")  # before what is a clause by itself: "Not A. B."
LAST = re.compile(rf"(?:[:→] ?|(?P<alone>[.!?\n])\s?){_OPENS}\Z")
SURELY = re.compile(
    r"\W{0,3}(?:(?:(?:most )?\w{1,12}ly|maybe|perhaps|just|sure|yes|ok|okay|well|hmm+|the|without \w{1,12})"
    r"[ ,.:!-]{1,3}){1,3}[\"'(\[]{0,2}",
    re.I,
)
AFFIRMED = re.compile(
    rf"{_CLOSES}(?: (?:is|are|was|would be|must be|has to be|seems|looks|sounds)"
    r"(?: (?:clearly|definitely|indeed|probably|likely|therefore|thus|still|also|by far|the|my|surely|certainly)){0,3}"
    r" (?:only (?:one|option|choice|answer|correct|right|valid|possible|true|defensible|sensible|reasonable)"
    r"|best|right|correct|better|true|choice|safest|answer|winner|closest"
    r"|most (?:likely|reasonable|plausible|sensible|appropriate|accurate|defensible|fitting|suitable|probable))\b"
    r"| must (?:be|hold)\b| (?:wins|follows|holds|fits)\b)(?! (?:at first|for|if)\b|,? but\b|[,;] however)"
)
PREDICATE = re.compile(
    rf"\b(?:is|are|was|were|be|by)(?: (?:the|an?|called|named))? {_OPENS}\Z"
)  # "written by B"
IS_THE = re.compile(rf"{_CLOSES} (?:is|are|was)(?: by far)? the ")
#: An option that a reason or a comparison names, where `clauses.SUBORDINATE` does not know the word.
GROUND = re.compile(
    r"\A ?(?:for|da|car|pues|pois|denn)\b|\b(?:as|weil|puisque|parce que|perch[eé]|poich[eé]|ya que|dado que|considering"
    r"|compared|followed by)\b|потому|так как|поскольку|由于|既然",
    re.I,
)
AMONG = re.compile(r"\b(?:between|among|of|from|comparing|compare|torn|consider\w*)\b[^,.;:\n]{0,12}\Z", re.I)
#: A share of the options, or a place among them, is no answer to the question: "Earth is only the fifth largest".
LESS = re.compile(
    r"\b(?:not|never|no|only|just|next|than|except|nearly|almost|less|if|second|third|fourth|fifth|sixth"
    r"|\d{1,2}(?:nd|rd|th))\b|n't\b",
    re.I,
)
#: What turns to another option where one follows at once; behind other words it says little.
TURNED = re.compile(
    rf"{CORRECTION.pattern}|\b(?:actually|hmm+|rather|reconsider|sorry|instead|hold on|strike that|(?:my|made a) mistake"
    r"|misread|chang\w{1,3} my|nein|perdón)\b|\b(?:no|nope)\b(?=[ ]?[,.:;!?\n-])",
    re.I,
)
AT_ONCE = re.compile(
    r"\W*(?:(?:no|wait|actually|sorry|rather|i mean|i meant|make it|i think|maybe|(?:the answer )?(?:is|should be)|now|then"
    r"|so|(?:that|it)(?:'s| is)(?: (?:not )?(?:right|correct|wrong|incorrect|a mistake))?|that|this|my(?: answer)?|mistake"
    r"|the)\b\W*){0,5}",
    re.I,
)

GOOD_MARKS = "✓✔✅☑🟢👍"
MARK = re.compile(rf"[{GOOD_MARKS}✗✘❌❎✖🔴🚫👎]|\[[xX ]\]|×(?=[^\w\n]{{0,9}}(?:\n|\Z))")
VERDICT = re.compile(
    r"(?P<no>\b(?:incorrect|wrong|false|untrue|not (?:the )?(?:correct|right|true|best|answer|it)\b|no(?![ '-]\w)"
    r"|eliminated?|ruled out|excluded?|rejected?|falsch|incorrect[oae]|falso|faux)\b|错|不对|不正确)"
    r"|(?P<yes>\b(?:correct|right|true|yes|the answer|richtig|correct[oa]|verdadero|vrai)\b|正确)",
    re.I,
)
#: Before a verdict on an option: "Mars - wrong", "this is correct".
JUDGES = re.compile(
    r"(?:\A|[:(=→|.,;!-]|\b(?:is|are|it's|that's|so|thus|therefore|hence|is the|clearly|also|obviously)\b)[^\w\n]*\Z",
    re.I,
)
