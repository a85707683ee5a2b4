import { compactJson } from "../engine/conversation/json.ts";
import { objectOf, objectsOf, stringAt } from "../formats/json-text/value.ts";
import { billingHeader } from "./billing/request-head.ts";

/**
 * The text of an edited request without the checksum of the body that it had. Claude Code writes one (`cch=…;`) into the first block
 * of `system` where it takes us for Anthropic itself, and none for any other address. Seen in 2.1.332.
 */
export function withoutBodyChecksum(text: string, body: unknown): string {
	const [first = {}] = objectsOf(objectOf(body).system);
	const header = stringAt(first, "text") ?? "";
	if (!header.startsWith(billingHeader)) return text;
	const plain = header.replace(/ cch=\w+;/, "");
	const spelling = compactJson(header);
	const at = plain === header ? -1 : text.lastIndexOf(spelling);
	return at === -1 ? text : text.slice(0, at) + compactJson(plain) + text.slice(at + spelling.length);
}
