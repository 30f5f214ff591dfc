"""How every page looks, on light and on dark paper, on a phone and on a desk."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #ffffff; --band: #f6f8fa;
  --link: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9da7b3; --line: #3d444d; --paper: #0d1117; --band: #161b22; --link: #79b8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main, header { max-width: 80rem; margin: 0 auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 1.5rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
h2 small { color: var(--soft); font-size: .875rem; font-weight: 400; }
nav details { display: inline-block; margin: 0 1.25rem .25rem 0; } nav details[open] { display: block; }
nav summary { margin: 0; }
p { max-width: 46rem; overflow-wrap: anywhere; }
p.soft, figcaption, caption { color: var(--soft); font-size: .875rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; }
a { color: var(--link); } a, summary { overflow-wrap: anywhere; }
nav li { min-width: 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .25rem 0; position: sticky; left: 0; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { white-space: nowrap; color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; min-width: 8.5rem; max-width: 14rem; overflow-wrap: break-word; }
thead th:first-child, tbody th { position: sticky; left: 0; background: var(--paper); }
@media (max-width: 40rem) { tbody th { max-width: 9.25rem; } }
tbody tr:nth-child(odd), tbody tr:nth-child(odd) th { background: var(--band); }
td.number, th.number { text-align: right; white-space: nowrap; }
td.long { min-width: 18rem; max-width: 30rem; }
summary { cursor: pointer; color: var(--link); margin: .75rem 0; }
td small { display: block; color: var(--soft); white-space: normal; max-width: 13rem; margin-left: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 2rem; }
figure { margin: 1rem 0; max-width: 40rem; }
figure svg { width: 100%; height: auto; color: var(--ink); }
footer { color: var(--soft); font-size: .875rem; margin: 2rem 0; }
"""
