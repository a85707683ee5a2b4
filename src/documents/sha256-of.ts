import crypto from "node:crypto";
import { compactJson } from "../engine/compact-json.ts";

/** SHA-256 (hex) by which an edit knows its place again: of a string's UTF-8, of any other value's compact JSON. */
export function sha256Of(value: unknown): string {
	return digest(typeof value === "string" ? value : compactJson(value));
}

// Node has the quicker way in one call since 20.12.
const digest =
	typeof crypto.hash === "function"
		? (text: string) => crypto.hash("sha256", text, "hex")
		: (text: string) => crypto.createHash("sha256").update(text, "utf8").digest("hex");
