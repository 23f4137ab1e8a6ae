/** For a screen and for A4; bars are dark enough to read in grey. */
export const REPORT_STYLE = `
:root{--ink:#1a1c1e;--soft:#5a6068;--line:#c9ced4;--accent:#0f6b4f}
*{box-sizing:border-box}
body{margin:0;color:var(--ink);background:#fff;font:14px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:720px;margin:0 auto;padding:40px 24px}
h1{font-size:28px;line-height:1.2;margin:0 0 8px}
h2{font-size:20px;margin:40px 0 12px;break-after:avoid}
h3{font-size:16px;margin:24px 0 8px;break-after:avoid}
p{margin:0 0 12px;max-width:75ch;break-inside:avoid}
p:has(+table),figure:has(+table){break-after:avoid}
.lead{color:var(--soft);font-size:16px}
p.line{margin:0;max-width:none}
code{font:12px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;margin:12px 0;font-size:12px}
th,td{padding:6px 8px;border-bottom:1px solid var(--line);vertical-align:top;text-align:right}
th{font-weight:600;text-align:left;overflow-wrap:break-word}
tbody th{min-width:96px}
.figures tbody th{max-width:200px}
.dense tbody th{overflow-wrap:anywhere;min-width:112px}
thead th{border-bottom:2px solid var(--ink);text-align:right;vertical-align:bottom}
thead .words{text-align:left}
thead th:first-child{text-align:left}
thead{display:table-header-group;break-after:avoid}
tbody tr:first-child{break-after:avoid}
tbody tr:last-child{break-before:avoid}
tr{break-inside:avoid}
.facts th{width:24%;font-weight:400;color:var(--soft)}
.facts td,.words{text-align:left}
.dense th,.dense td{padding:3px 6px}
td small{display:block;color:var(--soft);font-size:11px;white-space:nowrap}
.missing{color:var(--soft);background:repeating-linear-gradient(45deg,transparent 0 4px,#e6e9ec 4px 5px)}
.cards{display:grid;grid-template-columns:repeat(3,1fr);gap:12px;margin:12px 0}
.cards div{border:1px solid var(--line);padding:12px;break-inside:avoid}
.cards span{display:block;color:var(--soft);font-size:12px}
.cards strong{display:block;font-size:20px;font-weight:600}
figure{margin:12px 0;break-inside:avoid}
figcaption{color:var(--soft);font-size:12px}
svg{width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}
.bar{fill:#7fb8a4}
.range{stroke:var(--ink);stroke-width:1.25;fill:none}
.axis{stroke:var(--line);fill:none}
.sources{font-size:12px;padding-left:24px}
.sources li{margin-bottom:4px;overflow-wrap:anywhere}
@media(max-width:560px){.cards{grid-template-columns:1fr 1fr}.figures{display:block;overflow-x:auto}}
@page{size:A4;margin:16mm 14mm;@bottom-left{content:"Footprint report";font:9px system-ui,sans-serif;color:#5a6068}@bottom-right{content:counter(page) " of " counter(pages);font:9px system-ui,sans-serif;color:#5a6068}}
@media print{main{max-width:none;padding:0}body{font-size:12px;print-color-adjust:exact;-webkit-print-color-adjust:exact}h2{margin-top:24px}}
`;
