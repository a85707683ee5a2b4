/** Policies get a colour each by their place; the ninth has that of the first again, with another dash. */
const policyColours = 8;
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** @type {HTMLElement | undefined} */
let probe;

/**
 * What a custom property of the style sheet is now, in the scheme that is shown, as a canvas understands it.
 *
 * @param {string} property
 */
export function colourOf(property) {
	probe ??= document.body.appendChild(document.createElement("i"));
	probe.hidden = true;
	probe.style.color = `var(${property})`;
	return getComputedStyle(probe).color;
}

/**
 * How the line of a policy is drawn: doing nothing in grey, the others each in a colour and, since colour alone does
 * not tell them apart for everybody, with dashes of their own.
 *
 * @param {readonly string[]} policies
 * @param {string} policy
 */
export function lineOfPolicy(policies, policy) {
	if (policy === "raw") return { property: "--raw", dash: /** @type {number[]} */ ([]) };
	const place = policies.filter((one) => one !== "raw").indexOf(policy);
	const round = Math.floor(place / policyColours) + place;
	return { property: `--policy-${place % policyColours}`, dash: dashes[round % dashes.length] ?? [] };
}

/**
 * Calls back when the scheme changes, be it by the system or by what embeds the page (`data-theme` of the root).
 *
 * @param {() => void} redraw
 */
export function onSchemeChange(redraw) {
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
