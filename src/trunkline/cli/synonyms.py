"""Words that other tools taught people, and what to type here. Asked when a word is unknown."""

from __future__ import annotations

from collections.abc import Sequence

# Pachyderm says the verb first; some say the right noun with another verb.
_COMMANDS = {
    "apply": "pipeline apply FILE",
    "auth": "user create NAME, role grant",
    "copy file": "cp SOURCE REPO@BRANCH:/PATH",
    "create": "NOUN create, as in repo create NAME",
    "create pipeline": "pipeline apply FILE",
    "create secret": "secret set NAME",
    "datum restart": "job rerun JOB",
    "delete": "NOUN delete, as in repo delete NAME",
    "delete commit": "commit drop REPO@BRANCH",
    "delete file": "rm REPO@BRANCH:/PATH",
    "delete job": "job cancel JOB",
    "diff file": "diff REPO@OLD REPO@NEW",
    "draw pipeline": "draw",
    "edit pipeline": "pipeline inspect NAME --spec, then pipeline apply FILE",
    "find commit": "log REPO@BRANCH",
    "finish transaction": "transaction run FILE",
    "get file": "get REPO@BRANCH:/PATH FILE",
    "glob file": "glob REPO@BRANCH:/GLOB",
    "inspect": "NOUN inspect, as in job inspect JOB",
    "inspect file": "ls -l REPO@BRANCH:/PATH",
    "job kill": "job cancel JOB",
    "job restart": "job rerun JOB",
    "job stop": "job cancel JOB",
    "list": "NOUN list, as in repo list",
    "list commit": "log REPO@BRANCH",
    "list file": "ls REPO@BRANCH",
    "logs": "job logs PIPELINE",
    "mv": "cp SOURCE REPO@BRANCH:/PATH, then rm",
    "pipeline create": "pipeline apply FILE",
    "pipeline edit": "pipeline inspect NAME --spec, then pipeline apply FILE",
    "pipeline logs": "job logs PIPELINE",
    "pipeline start": "pipeline resume NAME",
    "pipeline stop": "pipeline pause NAME",
    "pipeline update": "pipeline apply FILE",
    "put file": "put REPO@BRANCH:/PATH FILE",
    "restart datum": "job rerun JOB",
    "run cron": "tick PIPELINE",
    "squash commit": "commit squash REPO@COMMIT",
    "start pipeline": "pipeline resume NAME",
    "start transaction": "transaction run FILE",
    "stop job": "job cancel JOB",
    "stop pipeline": "pipeline pause NAME",
    "transaction finish": "transaction run FILE",
    "transaction start": "transaction run FILE",
    "update pipeline": "pipeline apply FILE",
    "wait": "job wait JOB",
    "wait commit": "job wait ID",
    "wait job": "job wait JOB",
}
_OPTIONS = {
    "branch create --head": "branch create REPO@BRANCH --from REF",
    "branch create --trigger": "branch create REPO@BRANCH --trigger-on BRANCH",
    "get -o": "get REPO@BRANCH:/PATH FILE",
    "job logs --job": "job logs JOB",
    "job logs --pipeline": "job logs PIPELINE",
    "job logs -p": "job logs PIPELINE",
    "pipeline apply --file": "pipeline apply FILE",
    "pipeline apply -f": "pipeline apply FILE",
    "put --file": "put REPO@BRANCH:/PATH FILE",
    "put -f": "put REPO@BRANCH:/PATH FILE",
    "put -i": "put REPO@BRANCH URL …",
}
_VERBS = ("create", "list", "inspect", "delete", "start", "finish", "squash", "drop", "run")


def instead(arguments: Sequence[str], nouns: Sequence[str], group: str, option: str = "") -> str:
    """What to type for an unknown command, or for an unknown `option`; "" if nobody knows.

    `group` is the command that did not know it, without the program's name.
    """
    if option:
        return _typed(_OPTIONS.get(f"{group} {option}", ""))
    words = [word for word in arguments if not word.startswith("-")][:2]
    verb, noun = (*words, "", "")[:2]
    if found := _COMMANDS.get(f"{verb} {noun}") or _COMMANDS.get(f"{noun} {verb}"):
        return _typed(found)
    if not group and verb in _VERBS and noun in nouns:
        return _typed(f"{noun} {verb}")
    return _typed(_COMMANDS.get(verb, "")) if not group else ""


def _typed(command: str) -> str:
    return f"Here it is: trunkline {command}" if command else ""
