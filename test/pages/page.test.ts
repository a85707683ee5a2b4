import { fc, it } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { escapeHtml, selfContainedPage } from "../../src/pages/page.ts";
import { hostileName } from "./replay-fixture.ts";

/** Strings in which what could end a script is common. */
const nasty = fc
	.array(fc.oneof(fc.constantFrom("</script", "<!--", "-->", "\u2028", "\u2029", "&lt;", "'", '"', "<"), fc.string()))
	.map((pieces) => pieces.join(""));

/** The data of a page, as it stands in its HTML. */
function embedded(data: unknown): string {
	const page = selfContainedPage({ title: "", body: "", styles: [], scripts: [], data });
	return /<script type="application\/json" id="data">(.*)<\/script>/s.exec(page)?.[1] ?? "";
}

describe("JSON in a page", () => {
	let met = 0;

	it.prop([nasty])("has the same value, and cannot end its element", (text) => {
		if (/[<&\u2028\u2029]/.test(text)) met += 1;
		const written = embedded({ [text]: text });
		expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify({ [text]: text })));
		expect(written).not.toMatch(/[<>&\u2028\u2029]/);
	});

	it("met enough characters to escape", () => {
		expect(met).toBeGreaterThan(30);
	});

	it("escapes a hostile file name", () => {
		expect(embedded(hostileName)).toBe(
			String.raw`"\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e\u003c!-- \"quoted\" \u0026 'so' \u2028\u2029.json"`,
		);
	});
});

describe("a text in HTML", () => {
	it("opens no tag, ends no attribute, and contains no entity", () => {
		expect(escapeHtml(`<b class="x">&lt; 'y'`)).toBe("&lt;b class=&quot;x&quot;&gt;&amp;lt; &#39;y&#39;");
	});
});
