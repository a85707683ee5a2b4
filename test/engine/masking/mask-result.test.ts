import { describe, expect, it } from "vitest";
import type { MediaNode, ToolResult } from "../../../src/engine/conversation/transcript.ts";
import type { PairedResult } from "../../../src/engine/conversation/turns.ts";
import { type MaskResultParameters, maskResult } from "../../../src/engine/masking/mask-result.ts";
import { writeMediaPlaceholder } from "../../../src/engine/masking/placeholder.ts";
import { policyOf } from "../../support/policy-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, resultOf } from "../../support/transcripts.ts";

const wording = {
	placeholder: "<{tool_name} {original_chars} {ref}>",
	digestPlaceholder: "<{tool_name} {original_chars} {ref} {digest}>",
	mediaPlaceholder: "<{media} of {tool_name} {tool_call_id}, {ref}>",
	unknownTool: "a tool",
};

const parameters: MaskResultParameters = {
	policy: policyOf({ mask: { keep_errors: true } }).mask,
	media: "mask",
	wording,
	isPlaceholder: (text) => text.startsWith("<"),
	countTokens: roughCount,
};

const archiving = {
	refOf: (text: string) => `r${text.length}`,
	jsonAt: (path: readonly unknown[]) => JSON.stringify(path),
};

const media = (more: Partial<MediaNode> = {}): MediaNode => ({
	path: [1, "content", 1],
	kind: "image",
	mediaType: "image/png",
	bytes: 1_234,
	dimensions: { width: 30, height: 20 },
	tokens: 90,
	write: (text) => ({ text }),
	...more,
});

const paired = (result: Partial<ToolResult>, call = true): PairedResult => ({
	...({ caller: 0 } as PairedResult),
	message: 1,
	call: call ? messageOf({ calls: [{ id: "a", name: "look" }] }).calls[0] : undefined,
	result: { ...resultOf("a", ""), texts: [], ...result },
});

const textOf = (text: string) => ({
	texts: [{ path: [1, "content"], text }],
	whole: { path: [1, "content"], write: (one: string) => one },
});

const long = "a long output ".repeat(20);

describe("masking media", () => {
	it("writes a description in place of each", () => {
		const second = media({
			path: [1, "content", 2],
			kind: "audio",
			mediaType: undefined,
			bytes: undefined,
			dimensions: undefined,
		});
		expect(maskResult(paired({ media: [media(), second] }), parameters)).toEqual([
			{
				kind: "replace",
				reason: "mask",
				message: 1,
				result: { toolCallId: "a", toolName: "look" },
				path: [1, "content", 1],
				replacement: { text: "<image/png, 1234 B, 30×20 of look a, ->" },
				before: { chars: 0, tokens: 90, fixed: 90 },
				after: { chars: 39, tokens: 10 },
				takenOut: undefined,
			},
			expect.objectContaining({ path: [1, "content", 2], replacement: { text: "<audio of look a, ->" } }),
		]);
	});

	it("archives its JSON, and names the reference", () => {
		const [edit] = maskResult(paired({ media: [media()] }), { ...parameters, archiving }) as readonly {
			takenOut?: unknown;
			replacement: unknown;
		}[];
		const text = '[1,"content",1]';
		expect(edit?.takenOut).toEqual({ kind: "media", text, ref: `r${text.length}` });
		expect(edit?.replacement).toEqual({ text: "<image/png, 1234 B, 30×20 of look a, r15>" });
	});

	it("leaves media smaller than their description", () => {
		expect(maskResult(paired({ media: [media({ tokens: 10 })] }), parameters)).toBe("not_smaller");
		expect(maskResult(paired({ media: [media({ tokens: 11 })] }), parameters)).toHaveLength(1);
		expect(maskResult(paired({ media: [media({ tokens: 5 }), media()] }), parameters)).toHaveLength(1);
	});

	it("is done on request only, and where the result is not text", () => {
		expect(maskResult(paired({ media: [media()] }), { ...parameters, media: "keep" })).toBe("not_text");
		expect(maskResult(paired({ media: [] }), parameters)).toBe("not_text");
		const both = maskResult(paired({ ...textOf(long), media: [media()] }), parameters);
		expect(both).toMatchObject([{ path: [1, "content"], replacement: "<look 280 ->" }]);
	});

	it("names the tool by a word where the call is missing", () => {
		const write = (one: Partial<MediaNode>) =>
			writeMediaPlaceholder(wording, { toolCallId: "x(1)", toolName: undefined, ref: "r", media: media(one) });
		expect(write({})).toBe("<image/png, 1234 B, 30×20 of a tool x1, r>");
		expect(write({ mediaType: "a<b>", bytes: undefined })).toBe("<ab, 30×20 of a tool x1, r>");
		expect(write({ mediaType: undefined, dimensions: undefined })).toBe("<image, 1234 B of a tool x1, r>");
		const [edit] = maskResult(paired({ callId: undefined, media: [media()] }, false), parameters) as readonly {
			replacement: unknown;
		}[];
		expect(edit?.replacement).toEqual({ text: "<image/png, 1234 B, 30×20 of a tool , ->" });
	});
});

describe("masking a text", () => {
	it("gives the placeholder with size, reference and digest, if that is smaller", () => {
		const replaced = (text: string, more: Partial<MaskResultParameters> = {}) => {
			const edits = maskResult(paired(textOf(text)), { ...parameters, ...more });
			return typeof edits === "string" ? edits : edits[0]?.replacement;
		};
		expect(replaced(long)).toBe("<look 280 ->");
		expect(replaced(long, { archiving })).toBe("<look 280 r280>");
		expect(replaced(long, { digest: () => "a.ts" })).toBe("<look 280 - a.ts>");
		expect(replaced("x".repeat(16), { digest: () => "a.ts" })).toBe("<look 16 ->");
		expect(replaced("x".repeat(21), { digest: () => "a.ts" })).toBe("<look 21 - a.ts>");
		expect(replaced("x".repeat(12))).toBe("not_smaller");
		expect(replaced("x".repeat(13))).toBe("<look 13 ->");
	});

	it("archives the text", () => {
		expect(maskResult(paired(textOf(long)), { ...parameters, archiving })).toMatchObject([
			{
				takenOut: { kind: "result", text: long, ref: "r280" },
				before: { chars: 280, tokens: 70 },
				after: { chars: 15, tokens: 4 },
			},
		]);
	});

	it("leaves placeholders, errors, and places that cannot be written", () => {
		const texts = [...textOf(long).texts, { path: [1, "content", 1], text: "<gone>" }];
		expect(maskResult(paired({ ...textOf(long), texts }), parameters)).toBe("already_masked");
		expect(maskResult(paired({ ...textOf(long), isError: true }), parameters)).toBe("error");
		expect(maskResult(paired(textOf(`Error: no ${long}`)), parameters)).toBe("error");
		expect(
			maskResult(paired({ ...textOf(long), isError: true }), { ...parameters, isError: () => false }),
		).toHaveLength(1);
		expect(maskResult(paired(textOf(long)), { ...parameters, isError: () => true })).toBe("error");
		const lenient = { ...parameters, policy: policyOf({ mask: { keep_errors: false } }).mask };
		expect(maskResult(paired({ ...textOf(long), isError: true }), lenient)).toHaveLength(1);
		expect(maskResult(paired({ ...textOf(long), whole: undefined }), parameters)).toBe("not_text");
	});

	it("also masks copies and repeats, which are not sent", () => {
		// The last one is as long as the placeholder.
		const copies = [long, "<12345678 1>", "", "<123456789 12>!"].map((text, index) => ({ path: [2, index], text }));
		const edits = maskResult(paired({ ...textOf(long), copies, repeats: [[5]] }), { ...parameters, archiving });
		expect(edits).toMatchObject([
			{ path: [1, "content"], takenOut: { ref: "r280" } },
			{ path: [5, "content"], replacement: "<look 280 r280>", unsent: true },
			{
				path: [2, 0],
				replacement: "<look 280 r280>",
				unsent: true,
				before: { chars: 280, tokens: 0 },
				after: { chars: 15, tokens: 0 },
			},
			{ path: [2, 1], replacement: "", unsent: true, before: { chars: 12, tokens: 0 }, after: { chars: 0, tokens: 0 } },
			{ path: [2, 3], replacement: "", unsent: true, before: { chars: 15, tokens: 0 }, after: { chars: 0, tokens: 0 } },
		]);
	});
});
