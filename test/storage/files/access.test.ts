import { constants } from "node:buffer";
import { describe, expect, it } from "vitest";
import { decodeText } from "../../../src/storage/files/access.ts";

describe("decodeText", () => {
	it("keeps a byte order mark and everything else", () => {
		const text = '\uFEFF{"a": "é 😀 \\ud800"}\r\n';
		expect(decodeText(Buffer.from(text), "the file")).toBe(text);
	});

	it.each([
		["a byte of Latin-1", [0x22, 0xe9, 0x22]],
		["a sequence cut off", [0x22, 0xf0, 0x9f, 0x98]],
		["a surrogate", [0xed, 0xa0, 0x80]],
		["an overlong slash", [0xc0, 0xaf]],
		["UTF-16", [0xff, 0xfe, 0x5b, 0x00]],
	])("refuses %s", (_what, bytes) => {
		const decode = () => decodeText(Uint8Array.from(bytes), "the file");
		expect(decode).toThrow(
			expect.objectContaining({ code: "invalid_json", message: expect.stringMatching(/UTF-8.*the file/) }),
		);
	});

	it("refuses more bytes than a text can have characters", () => {
		const bytes = new Uint8Array(constants.MAX_STRING_LENGTH + 1);
		expect(() => decodeText(bytes, "the file")).toThrow(expect.objectContaining({ code: "payload_too_large" }));
	});
});
