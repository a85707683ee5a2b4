import type { LiveStatus } from "./live-data.ts";
import { pageAsset, pagePolicy, selfContainedPage } from "./page.ts";

/**
 * The live page of a proxy, with its first figures; its script asks for `status` beside it from then on. `withoutScript` is
 * the HTML for browsers that run none. Returns the page, and the policy that the server sends with it. Throws
 * `unreadable_file`.
 */
export async function livePage({
	status,
	withoutScript,
}: {
	readonly status: LiveStatus;
	readonly withoutScript: string;
}): Promise<{ readonly html: string; readonly policy: string }> {
	const assets = ["uplot.css", "page.css", "live.css", "uplot.js", "uplot-license.txt", "live.js"] as const;
	const [uplotSheet = "", sheet = "", ownSheet = "", uplot, license, program = ""] = await Promise.all(
		assets.map(pageAsset),
	);
	const parts = {
		styles: [uplotSheet, sheet, ownSheet],
		scripts: [`/*! uPlot\n${license}*/\n${uplot}`, program],
		asksItsServer: true,
	};
	const body = `<a class="skip" href="#main">Skip to the content</a>
<header class="live-head">
<div><p class="brand">palimpsest proxy</p>
<h1>What the proxy saved</h1></div>
<p class="live-state"><span class="dot" aria-hidden="true"></span><span id="connection" role="status"></span> <span id="since"></span></p>
</header>
<noscript>${withoutScript}</noscript>
<main id="main" tabindex="-1" hidden>
<dl class="tiles" id="tiles"></dl>
<p class="block" id="empty" hidden>No request has passed yet. Start a program with <code>palimpsest launch</code>, or point one at this address. Figures appear here with its first answer.</p>
<div id="filled" hidden>
<section aria-labelledby="tokens">
<div class="controls live-controls">
<div><label for="conversation">Conversation</label><select id="conversation"></select></div>
<div><label for="request">Request</label><input id="request" type="range" min="1" value="1" step="1"></div>
</div>
<div class="block">
<div class="plot-head"><h2 id="tokens">Tokens of each request</h2>
<p class="subject" id="subject"></p></div>
<p class="readout" id="readout"></p>
<div class="plot" id="plot" role="img"></div>
<ul class="legend" id="legend" aria-label="Lines and marks, with their values at the chosen request"></ul>
<dl class="facts" id="facts"></dl>
<details id="points"><summary>Tokens and bill of each request</summary></details>
</div>
</section>
<section aria-labelledby="breaks-heading" id="breaks-section" hidden>
<div class="block">
<h2 id="breaks-heading">Where the cache broke</h2>
<p id="breaks-lead"></p>
<div id="breaks"></div>
</div>
</section>
<section aria-labelledby="edits-heading">
<div class="block">
<h2 id="edits-heading">What was masked or cut</h2>
<p id="edits-lead"></p>
<details id="results"><summary>Each result, with its original</summary></details>
<details id="undecided" hidden><summary>Requests without new decisions</summary></details>
</div>
</section>
<section aria-labelledby="conversations-heading">
<div class="block">
<h2 id="conversations-heading">Conversations</h2>
<p id="conversations-lead"></p>
<div id="conversations"></div>
</div>
</section>
</div>
<section aria-labelledby="proxy-heading" id="proxy-section" hidden>
<h2 id="proxy-heading">What else happened in the proxy</h2>
<dl class="wide" id="proxy"></dl>
</section>
<section aria-labelledby="reading">
<h2 id="reading">How to read this</h2>
<dl class="wide">
<dt>Saved</dt><dd>US dollars of the requests as the programs sent them, less what was paid, by the catalogue prices of the models. The unedited requests were never sent: a provider’s invoice shows what was paid.</dd>
<dt>Unedited</dt><dd>The tokens of the request as the program sent it, before results were masked or cut.</dd>
<dt>Left out</dt><dd>Tokens that a request goes without. A result that stays masked counts in each later request again, so sums over requests exceed what was masked.</dd>
<dt>Input bill</dt><dd>The bill of the input against that of the same requests unedited, with read and written cache at their prices. Pings are a cost. Below zero is a saving.</dd>
<dt>Masked, cut</dt><dd>An old result was replaced by one line, or a large one was shortened as it arrived. Its original stays readable.</dd>
<dt>Unknown</dt><dd>The proxy does not have this figure, and does not guess it.</dd>
</dl>
<p class="note">Plots are drawn with uPlot (MIT licence). This page asks the proxy for its figures, and no other server.</p>
</section>
</main>`;
	return {
		html: selfContainedPage({ title: "Palimpsest: what the proxy saved", body, data: status, ...parts }),
		policy: pagePolicy(parts),
	};
}
