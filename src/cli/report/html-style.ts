/** Style of the HTML report: dark and light, from 360 pixels up. */
export const css = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f7f7f5, #14161a); --card: light-dark(#fff, #1d2026); --line: light-dark(#e2e2de, #31353d);
  --text: light-dark(#1c1e22, #e8e8e4); --soft: light-dark(#62666e, #9da2ab); --accent: light-dark(#1f66c1, #6ba8f2);
  --heat: light-dark(#1f66c1, #3b78c4);
  --up: light-dark(#14743c, #62c98a); --down: light-dark(#b3302a, #f08a80);
}
* { box-sizing: border-box; margin: 0 }
body { background: var(--page); color: var(--text); font: 15px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 48px }
h1 { font-size: 22px; overflow-wrap: anywhere }
h2 { font-size: 16px; margin: 32px 0 10px }
h3 { font-size: 15px }
.facts { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 6px; color: var(--soft) }
.status { font-weight: 600 }
.status.done, .status.imported, .status.rescored { color: var(--up) } .status.running { color: var(--accent) } .status.interrupted { color: var(--down) }
.note { color: var(--soft); font-size: 13px }
.cards { list-style: none; padding: 0; display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 220px), 1fr)) }
.card, figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px }
.big { font-size: 26px; font-weight: 600; margin: 6px 0 2px }
.change { font-size: 15px } .up { color: var(--up) } .down { color: var(--down) }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px }
table { border-collapse: collapse; width: 100% }
th, td { padding: 8px 12px; text-align: right; white-space: nowrap }
th { font-weight: 600; font-size: 13px; color: var(--soft) }
th:first-child { text-align: left }
th[scope=row] { color: var(--text) }
tbody tr { border-top: 1px solid var(--line) }
.matrix td { text-align: center; padding: 6px 8px } .matrix th { text-align: center } .matrix th:first-child { text-align: left; width: 1% }
.heat { background: color-mix(in srgb, var(--heat) calc(var(--v) * 65%), var(--card)); border: 2px solid var(--card) }
.heat small { display: block; font-size: 11.5px }
.own { outline: 2px solid var(--text); outline-offset: -4px }
.wide + .note, .charts + .note { margin-top: 6px }
.charts { display: grid; gap: 12px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 250px), 1fr)) }
figure { padding: 10px 10px 4px } figcaption { font-weight: 600; font-size: 13px; padding-left: 4px }
svg { display: block; width: 100%; height: auto }
svg text { fill: var(--soft); font-size: 11px }
.grid { stroke: var(--line); stroke-width: 1 }
path { fill: none; stroke: var(--accent); stroke-linejoin: round }
.each { stroke-width: 1; opacity: .38 } .mean { stroke-width: 2.2 } circle { fill: var(--accent) }
`
