import { createHash } from "node:crypto";
import { compactJson } from "../engine/compact-json.ts";

/** SHA-256 (hex) by which an edit knows its place again: of a string's UTF-8, of any other value's compact JSON. */
export function sha256Of(value: unknown): string {
	const text = typeof value === "string" ? value : compactJson(value);
	return createHash("sha256").update(text, "utf8").digest("hex");
}
