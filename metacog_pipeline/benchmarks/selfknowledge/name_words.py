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
    "the a an it its this that these those he she they we i in on at of for from by as to and but so or if is was "
    "are were there here then thus hence therefore sure great good answer short final let well okay ok yes no not "
    "think based after according while although though when what which who where how my your his her their our most "
    "many some both one two known born also however actually certainly absolutely correct historically question step "
    "first second given because el la los las un una es fue se en de su respuesta según le il der die das british "
    "english american french german italian spanish russian chinese japanese dutch greek roman austrian swiss polish "
    "swedish norwegian scottish irish king queen madame monsieur lady president dr sir prime minister professor "
    "general author physicist novelist poet composer painter artist"
)

NATIONAL = _words(
    "british english american french german italian spanish russian chinese japanese dutch greek roman "
    "austrian swiss polish "
    "swedish norwegian scottish irish"
)

PLAIN_BEHIND = _words(
    "gas metal element too again instead though first second alone anyway please today now still once here "
    "there then also "
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

HEDGES = _words(
    "around about nearly circa maybe perhaps modern ancient present today just only simply planet answer"
)

#: What begins no noun phrase that could be an answer: prepositions, conjunctions, pronouns, interjections, adverbs.
OPENERS = _words(
    "in on at by from to for with without of as per via among amongst during before after since until about around "
    "between within under over according based although though while when where if because unlike like given despite "
    "and but or so then thus hence therefore however also i we you he she it they this that these those there here my "
    "your his her their our yes no not yeah yep sure ok okay well hmm ah oh hi hello great good nice excellent "
    "interesting fun short quick final answer question certainly absolutely correct right historically technically "
    "today currently now once both either neither which who what whose thanks thank sorry step first second third "
    "finally next question options option note fact en según el-de selon dans laut nach im am unter depuis desde para "
    "por con a de que et y pero maybe perhaps probably possibly think thinking let hold wait actually "
)

VERBS = _words(
    "is are was were be been being am s has have had do does did can could will would shall should may might must won "
    "wins wrote writes made makes became took found founded built held holds sang sings plays played comes came goes "
    "went lies lives sits stands runs ran beat lost led leads ruled directed composed painted discovered invented "
    "designed created released published happened began ended died killed means refers contains think believe guess "
    "know recall say said es fue era son ist war wurde est était fut a split flows starred featured hosted borders "
    "starts ends belongs known called named moved used asks lie hold make sit include "
)

GIVEN_TO_MANY = GIVEN - _words(
    "whitney elvis dusty ozzy axl serena venus rod duke stevie florence miles ella nina celine marvin noel"
)

TITLES = _words(
    "mr mrs ms miss dr sir lady lord director king queen prince princess madame captain professor chairman"
)

#: Whom a question can ask for: "which Dutch painter".
KINDS_OF_PEOPLE = _words(
    "actor actress admiral archbishop architect artist astronaut astronomer athlete author aviator ballerina beatle "
    "biologist bishop botanist boxer boy boyfriend brother businessman businesswoman captain cartoonist celebrity ceo "
    "champion chancellor character chef chemist choreographer coach comedian comic composer conductor cosmonaut "
    "cricketer critic dancer daughter deity designer detective dictator director doctor dramatist driver drummer duke "
    "economist editor emperor empress engineer entrepreneur explorer father footballer founder general geologist girl "
    "girlfriend goalkeeper god goddess golfer governor guitarist hero heroine historian host husband inventor jockey "
    "journalist judge justice king laureate lawyer leader linguist man manager mathematician mayor men minister model "
    "monarch monk mother musician naturalist navigator nobel novelist nun outlaw owner painter people person "
    "philosopher physicist pianist pilot pitcher player playwright poet politician pope presenter president prince "
    "producer professor programmer psychologist quarterback queen rapper reformer revolutionary saint scholar "
    "scientist scribe sculptor secretary senator singer sister sociologist soldier son songwriter soprano sprinter "
    "spy star striker surgeon swimmer tennis tenor theologian theorist titan villain violinist wife winner woman "
    "women writer "
)

#: First names that stand for one another: short forms, and the same name in other languages.
_SAME = (
    "abraham abe; albert al bert; alexander aleksandr alexandre alejandro; alexander alex sandy alec; alfred al fred "
    "alf; amerigo americo; andrew andy drew; anthony antonio antoine anton; anthony tony; arthur art; benjamin ben "
    "benny; catherine catalina ekaterina; catherine kate cathy; charles charlie chuck; charles karl carl carlos; "
    "christopher chris; christopher cristoforo cristobal christophe; daniel dan danny; david dave davy; deborah "
    "debbie; donald don donnie; edward ed eddie ted ned; edwin buzz; elizabeth liz beth betty lizzie; eugene gene; "
    "ferdinand fernando fernao; francis francois francisco; francis frank; franklin frank; frederick fred freddie; "
    "frederick friedrich frederic federico fryderyk; fyodor theodore; george georg georges jorge; gerald gerry jerry; "
    "gregory greg; henry harry hank; henry heinrich henri; ivan john; jacob jake; james jim jimmy jamie; jeffrey jeff "
    "geoffrey geoff; jennifer jen jenny; john jack johnny jon; john johann johannes jean juan giovanni jan; joseph "
    "joe joey; joseph josef giuseppe; joshua josh; katherine kate katie kathy; kenneth ken; lawrence larry laurence; "
    "leonard leo len lenny; leonard leonardo; lev leo; louis ludwig luis; margaret maggie meg peggy; matthew matt; "
    "michael michel miguel; michael mike mick mickey; mikhail michael; nicholas nick; nicholas nicolas nicolaus; "
    "nikolai nicholas; patrick pat paddy; paul pablo paolo; peter pete; peter pierre pedro pietro; philip felipe; "
    "philip phil phillip; pyotr peter piotr; raymond ray; richard dick rick rich ricky; robert bob bobby rob robbie; "
    "ronald ron ronnie; samuel sam sammy; stephen steve steven; susan sue; theodore ted teddy; thomas tom tommy; "
    "timothy tim; walter walt; william bill billy will willy; william wilhelm guillaume; zachary zach "
)
SAME_FIRST_NAMES = tuple(map(_words, _SAME.split(";")))

ADJECTIVES = _words(
    "late early mid deep bright dark light pale pure liquid solid common raw native molten standard simple plain "
    "whole real true elemental three four five six seven eight about just only probably maybe perhaps likely "
    "definitely modern old mashed dried fresh main big small red green white male female adult young their your some "
    "any each every"
)
ADJECTIVE_ENDINGS = (
    "al", "ic", "ive", "ed", "ing", "ful", "ous", "ern", "ish", "an", "ese", "y", "less", "ary",
)  # fmt: skip
