import { fc, test } from "@fast-check/vitest";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readMedia } from "../../src/formats/media.ts";
import { numberOfCases } from "../support/case-divisor.ts";
import { gifOf, jpegOf, pdfOf, pngOf, wavOf, webpOf } from "../support/media-samples.ts";

type MediaPart = Parameters<typeof readMedia>[0];

const tokens = (provider: MediaPart["provider"], size?: readonly [number, number], detail?: string) =>
	readMedia({ path: [], provider, kind: "image", data: size && pngOf(...size), detail }).tokens;

describe("image tokens", () => {
	it.each([
		["the guide's first example", [1_024, 1_024], "high", 765],
		["the guide's second example", [2_048, 4_096], "high", 1_105],
		["the guide's third example", [4_096, 8_192], "low", 85],
		["one tile", [512, 512], undefined, 255],
		["one pixel more", [513, 512], undefined, 425],
		["the most that eight tiles take", [2_048, 768], "auto", 1_445],
		["a line", [100_000, 1], undefined, 85 + 4 * 170],
		["patches", [1_024, 1_024], "original", 1_024],
		["no more patches than the API takes", [8_000, 8_000], "original", 10_000],
	] as const)("OpenAI: %s", (_, size, detail, expected) => {
		expect(tokens("openai", size, detail)).toBe(expected);
	});

	it.each([
		["the guide's table, 1:1", [200, 200], 54],
		["the guide's table, 1 megapixel", [1_000, 1_000], 1_334],
		["the long edge", [3_136, 400], Math.ceil((1_568 * 200) / 750)],
		["never more than 1 600", [1_568, 1_568], 1_600],
	] as const)("Anthropic: %s", (_, size, expected) => {
		expect(tokens("anthropic", size)).toBe(expected);
	});

	it.each([
		["small", [384, 384], 258],
		["one tile", [385, 300], 258],
		["two tiles", [1_000, 600], 516],
		["scaled down to 3 072 px", [30_720, 30_720], 16 * 258],
	] as const)("Gemini: %s", (_, size, expected) => {
		expect(tokens("gemini", size)).toBe(expected);
	});

	it("uses the maximum of the rule for unknown dimensions", () => {
		expect(["openai", "anthropic", "gemini"].map((provider) => tokens(provider as "openai"))).toEqual([
			1_445, 1_600, 1_120,
		]);
		expect(tokens("openai", undefined, "low")).toBe(85);
		expect(tokens("openai", undefined, "original")).toBe(10_000);
	});

	it("uses the largest estimate for an unknown provider", () => {
		expect(tokens("any")).toBe(1_600);
		expect(tokens("any", [512, 512])).toBe(350);
		expect(tokens("any", [30_720, 30_720])).toBe(16 * 258);
	});

	it.each([[[4_294_967_295, 4_294_967_295]], [[1, 4_294_967_295]], [[1, 1]]] as const)("is limited for %j", (size) => {
		for (const provider of ["openai", "anthropic", "gemini", "any"] as const) {
			const count = tokens(provider, size);
			expect(count).toBeGreaterThan(0);
			expect(count).toBeLessThanOrEqual(16 * 258);
		}
	});
});

const read = (part: Partial<MediaPart>) => readMedia({ path: [0], provider: "anthropic", data: undefined, ...part });

const url = (mediaType: string, base64: string) => `data:${mediaType};base64,${base64}`;

describe("metadata of a media part", () => {
	it.each([
		["image/png", pngOf(640, 480)],
		["image/jpeg", jpegOf(640, 480)],
		["image/jpeg", jpegOf(640, 480, 120_000)],
		["image/gif", gifOf(640, 480)],
		["image/webp", webpOf(640, 480)],
	])("reads the header of %s", (mediaType, data) => {
		const expected = { kind: "image", mediaType, bytes: Buffer.from(data, "base64").length };
		const dimensions = { width: 640, height: 480 };
		expect(read({ data, mediaType })).toMatchObject({ ...expected, dimensions, tokens: 410 });
		expect(read({ data: url(mediaType, data) })).toMatchObject({ ...expected, dimensions });
		expect(read({ data })).toMatchObject({ ...expected, dimensions });
		expect(read({ data: new Uint8Array(Buffer.from(data, "base64")) })).toMatchObject({ ...expected, dimensions });
		expect(read({ data: JSON.parse(JSON.stringify(Buffer.from(data, "base64"))) })).toMatchObject({
			...expected,
			dimensions,
		});
	});

	it("reads base64url, which some clients of Gemini write", () => {
		const data = jpegOf(63, 63).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
		expect(data).toMatch(/[-_]/);
		expect(read({ data, mediaType: "image/jpeg" }).dimensions).toEqual({ width: 63, height: 63 });
	});

	it("prefers the part's own media type over the data URL's", () => {
		expect(read({ data: url("image/gif", "AAAA"), mediaType: "image/png" }).mediaType).toBe("image/png");
	});

	it("does not search for a header beyond the first 192 kB", () => {
		const data = jpegOf(640, 480, 300_000);
		expect(read({ data, kind: "image" })).toMatchObject({ dimensions: undefined, tokens: 1_600 });
	});

	it.each([
		["https://example.com/a.png"],
		["file:///tmp/a.png"],
		["file-abc.123"],
		["data:image/png"],
		[""],
		[undefined],
		[null],
		[7],
		[{ type: "Buffer", data: "AAAA" }],
	])("has no facts about the target of %j", (data) => {
		expect(read({ data, kind: "image" })).toMatchObject({ kind: "image", bytes: undefined, dimensions: undefined });
	});

	it.each([
		["AA==", 1],
		["AAA=", 2],
		["AAAA", 3],
		["AA", 1],
	])("counts the bytes of %s", (data, bytes) => {
		expect(read({ data, mediaType: "image/png" }).bytes).toBe(bytes);
	});

	it.each([
		["image/png", "document", "image"],
		["IMAGE/PNG", "document", "image"],
		["audio/mpeg", "image", "audio"],
		["application/octet-stream", "image", "image"],
		[undefined, "video", "video"],
		[undefined, undefined, "document"],
	] as const)("reads the kind from the media type %j, with %j as fallback", (mediaType, kind, expected) => {
		expect(read({ mediaType, kind }).kind).toBe(expected);
	});

	it("an image without pixels has unknown dimensions", () => {
		expect(read({ data: pngOf(0, 5), kind: "image" }).dimensions).toBeUndefined();
	});

	it("writes a text part, or the format's own part", () => {
		expect(read({}).write("x")).toEqual({ type: "text", text: "x" });
		expect(read({ write: (text) => ({ text }) }).write("x")).toEqual({ text: "x" });
	});
});

describe("tokens of recordings and documents", () => {
	const tokens = (provider: MediaPart["provider"], part: Partial<MediaPart>) => read({ provider, ...part }).tokens;

	it("sound: by the seconds from a WAV header or a rate", () => {
		const wav = { data: wavOf(10), mediaType: "audio/wav" };
		expect([tokens("openai", wav), tokens("gemini", wav), tokens("any", wav)]).toEqual([100, 320, 320]);
		const pcm = { data: "A".repeat(64_000), mediaType: "audio/L16;rate=8000" };
		expect(tokens("gemini", pcm)).toBe(96);
		expect(tokens("openai", { data: "A".repeat(64_000), mediaType: "audio/pcm16" })).toBe(10);
	});

	it("sound and video: otherwise by an assumed rate, and one minute for an unknown size", () => {
		const data = "A".repeat(Math.ceil((8_000 * 4) / 3) * 10);
		expect(tokens("gemini", { data, mediaType: "audio/mpeg" })).toBeGreaterThanOrEqual(320);
		expect(tokens("openai", { kind: "audio" })).toBe(600);
		expect(tokens("gemini", { kind: "audio" })).toBe(1_920);
		expect(tokens("gemini", { kind: "video" })).toBe(15_780);
	});

	it("a PDF: by its pages", () => {
		const pdf = { data: pdfOf(3), mediaType: "application/pdf" };
		const all = ["openai", "anthropic", "gemini", "any"] as const;
		expect(all.map((provider) => tokens(provider, pdf))).toEqual([5_415, 9_000, 774, 9_000]);
	});

	it("a PDF: estimates pages beyond the searched part from the found ones or its size", () => {
		const long = tokens("gemini", { data: pdfOf(100, 10_000), mediaType: "application/pdf" });
		expect(long / 258).toBeGreaterThan(90);
		expect(long / 258).toBeLessThan(115);
		const opaque = Buffer.alloc(160_000).toString("base64");
		expect(tokens("gemini", { data: opaque, mediaType: "application/pdf" })).toBe(4 * 258);
		expect(tokens("gemini", { data: "AAAA", mediaType: "application/pdf" })).toBe(258);
		expect(tokens("gemini", { data: "https://example.com/a.pdf" })).toBe(2_580);
	});

	it("plain text: one token per 4 bytes", () => {
		const data = Buffer.from("x".repeat(4_000)).toString("base64");
		for (const mediaType of ["text/plain", "text/csv; charset=utf-8", "application/json", "application/ld+json"]) {
			expect(tokens("anthropic", { data, mediaType })).toBe(1_000);
		}
	});
});

describe("hostile media", () => {
	const parts = fc.record({
		provider: fc.constantFrom("openai", "anthropic", "gemini", "any"),
		data: fc.oneof(
			fc.anything(),
			fc.string(),
			fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64")),
			fc
				.uint8Array({ maxLength: 200 })
				.map((bytes) => `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`),
			fc
				.tuple(fc.constantFrom(pngOf(9, 9), jpegOf(9, 9), gifOf(9, 9), webpOf(9, 9), wavOf(1), pdfOf(2)), fc.nat(60))
				.map(([sample, length]) => sample.slice(0, length)),
			fc.json().map((text) => ({ type: "Buffer", data: [JSON.parse(text)] })),
		),
		mediaType: fc.option(fc.oneof(fc.string(), fc.constantFrom("image/png", "audio/wav", "application/pdf")), {
			nil: undefined,
		}),
		kind: fc.constantFrom("image", "audio", "video", "document", undefined),
		detail: fc.option(fc.string(), { nil: undefined }),
	}) as fc.Arbitrary<Omit<MediaPart, "path">>;

	test.prop([parts], { numRuns: numberOfCases(2_000) })(
		"never throws, and gives an integer number of tokens",
		(part) => {
			const { tokens, bytes } = readMedia({ path: [], ...part });
			expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true);
			expect(bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0)).toBe(true);
		},
	);

	it("an endless chunk of a WAV header, a JPEG of fill bytes, a PDF of spaces end early", () => {
		const riff = Buffer.concat([Buffer.from("RIFF\0\0\0\0WAVE"), Buffer.alloc(300_000)]).toString("base64");
		const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(300_000, 0xff)]).toString("base64");
		const pdf = Buffer.from(`%PDF/Type${" /Type".repeat(50_000)}${" ".repeat(300_000)}`).toString("base64");
		const start = performance.now();
		expect(read({ data: riff, mediaType: "audio/wav" }).tokens).toBeGreaterThan(0);
		expect(read({ data: jpeg, mediaType: "image/jpeg" }).dimensions).toBeUndefined();
		expect(read({ data: pdf, mediaType: "application/pdf" }).tokens).toBeGreaterThan(0);
		expect(performance.now() - start).toBeLessThan(20_000);
	});

	it("decodes only the beginning of 64 MB", () => {
		// Latin-1 bytes give one flat string, as JSON does.
		const data =
			Buffer.from(pngOf(640, 480)).toString("latin1") + Buffer.alloc(64 * 1024 * 1024, "A").toString("latin1");
		expect(data.charCodeAt(0)).toBe(105);
		const decode = vi.spyOn(Buffer, "from");
		onTestFinished(() => decode.mockRestore());
		expect(read({ data, mediaType: "image/png" })).toMatchObject({ dimensions: { width: 640, height: 480 } });
		const lengths = decode.mock.calls.map(([text]) => (text as unknown as string).length);
		expect(lengths.length).toBeGreaterThan(0);
		expect(Math.max(...lengths)).toBeLessThan(300_000);
	});
});
