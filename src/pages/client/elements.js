/**
 * An element with attributes and children; texts among them stand as texts, whatever they hold.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {readonly (Node | string)[]} children
 */
export function element(tag, attributes = {}, children = []) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
	made.append(...children);
	return made;
}

/**
 * The same for what stands inside an `svg`.
 *
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {readonly Node[]} children
 */
export function svgElement(tag, attributes = {}, children = []) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
	made.append(...children);
	return made;
}

/**
 * The element of a page that is always there.
 *
 * @template {Element} [Found=HTMLElement]
 * @param {string} id
 * @returns {Found}
 */
export function byId(id) {
	const found = document.getElementById(id);
	if (found === null) throw new Error(`no element #${id}`);
	return /** @type {Found} */ (/** @type {unknown} */ (found));
}
