import { describe, expect, it } from "vitest";
import { languageOfReader, readerLocale } from "../../../src/operations/config/reader.ts";

const locale = (environment: Record<string, string>, systems?: string) => readerLocale(environment, () => systems);

describe("readerLocale", () => {
	it.each([
		["fr_FR.UTF-8", "fr"],
		["fr", "fr"],
		["fr_CA@euro", "fr"],
		["zh_CN.GB18030", "zh"],
		["zh-Hant-TW", "zh"],
		["en_US.UTF-8", "en"],
		["de_DE", "en"],
		["fra_FR", "en"],
		["frr_DE", "en"],
	])("takes %s for %s", (LANG, expected) => {
		expect(locale({ LANG })).toBe(expected);
	});

	it("follows LC_ALL before LC_MESSAGES before LANG, and takes an empty one for absent", () => {
		expect(locale({ LC_ALL: "zh_CN", LC_MESSAGES: "fr_FR", LANG: "en_US" })).toBe("zh");
		expect(locale({ LC_ALL: "", LC_MESSAGES: "fr_FR", LANG: "en_US" })).toBe("fr");
		expect(locale({ LC_MESSAGES: "", LANG: "en_US" })).toBe("en");
	});

	it.each(["", "C", "C.UTF-8", "c.utf8", "POSIX"])("asks the system where the variable is %j", (LC_ALL) => {
		expect(locale({ LC_ALL })).toBeUndefined();
		expect(locale({ LC_ALL }, "zh-CN")).toBe("zh");
		expect(locale({ LC_ALL, LANG: "" }, "pt-BR")).toBe("en");
	});

	it("does not ask the system where a variable names a language", () => {
		const never = () => {
			throw new Error("asked");
		};
		expect(readerLocale({ LANG: "it_IT.UTF-8" }, never)).toBe("en");
	});
});

describe("languageOfReader", () => {
	it("is unknown on Linux where no variable names a language", () => {
		expect(languageOfReader({}, "linux")).toBeUndefined();
		expect(languageOfReader({ LANG: "C.UTF-8" }, "linux")).toBeUndefined();
	});

	it("asks the system on Windows", () => {
		expect(languageOfReader({}, "win32")).toBe("en");
	});
});
