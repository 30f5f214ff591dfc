"""Words around names: kinds, titles, articles, first names, and what makes a name another one. In lower case."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What turns a name into another one when it stands before it, or behind it.
BEFORE = _words(
    "new north south east west northern southern eastern western saint san santa los las el la papua "
    "equatorial upper lower little great greater inner outer central anti non old blue white red black yellow green"
)

#: What makes a thing in lower case another one: heavy water is not water.
UNLIKE = _words("heavy mock fake false pseudo imitation artificial former semi half quasi hard anti non toy")

KIND_BEFORE = _words(
    "the a an river lake mount mt city town country republic kingdom state island islands sea ocean "
    "president king queen emperor sir lord lady saint st pope dr professor mr mrs ms prime minister "
    "general captain planet element rio río monte lago mar ciudad océano oceano isla"
)

KIND_BEHIND = _words(
    "river lake mount mountain mountains city town country republic kingdom state island islands sea "
    "ocean county province region district desert peninsula bay gulf strait canal bridge tower dynasty "
    "empire war treaty university jr sr ii iii iv and or in of the is was were on at by from to with"
)

NO_NAME = _words(
    "the a an it its this that these those he she they we i in on at of for from by as to and but so or "
    "if is was are were "
    "there here then thus hence therefore sure great good answer short final let well okay ok yes no not "
    "think based after "
    "according while although though when what which who where how my your his her their our most many "
    "some both one two "
    "known born also however actually certainly absolutely correct historically question step first "
    "second given because "
    "el la los las un una es fue se en de su respuesta según le il der die das british english american "
    "french german italian "
    "spanish russian chinese japanese dutch greek roman austrian swiss polish swedish norwegian scottish "
    "irish king queen "
    "madame monsieur lady president dr sir prime minister professor general author physicist novelist "
    "poet composer painter artist"
)

PLAIN_BEHIND = _words(
    "gas metal element too again instead though first second alone anyway please today now still once here there then also "
    "itself since until years year old time wins won born died does did can may will would has have had became gave "
    "made comes came goes"
)

ARTICLES = _words("el la los las")

WITH_ARTICLE = _words("angeles salvador paz palmas vegas plata haya habana coruna mancha rioja")

GIVEN = _words(
    "robin john james robert michael william david richard joseph thomas charles christopher daniel matthew anthony "
    "mark donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan "
    "jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin samuel frank gregory raymond "
    "alexander patrick jack dennis jerry tyler aaron jose adam nathan henry peter zachary kyle walter ethan "
    "jeremy harold keith christian roger noah gerald carl terry sean austin arthur lawrence jesse dylan bryan joe "
    "jordan billy bruce albert willie gabriel logan alan juan wayne ralph roy eugene randy vincent russell louis "
    "philip bobby johnny bradley neil bruno tom ian simon oliver harry mary patricia jennifer linda elizabeth "
    "barbara susan jessica sarah karen lisa nancy betty margaret sandra ashley kimberly emily donna michelle "
    "carol amanda dorothy melissa deborah stephanie rebecca sharon laura cynthia kathleen amy angela shirley anna "
    "brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn janet maria catherine "
    "heather diane olivia julie joyce victoria ruth virginia lauren kelly christina joan evelyn judith andrea "
    "hannah jane venus serena isaac freddie bob jim ron fred ben sam max leo hugo otto karl hans fritz florence "
    "grace rose dusty elvis miles duke ella nina marvin stevie rod phil dave kurt axl ozzy mick liam noel whitney "
    "celine pablo carlos luis miguel antonio pedro manuel francisco javier diego jorge ana carmen lucia marta "
)
