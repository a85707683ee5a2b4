import { describe, expect, it } from "vitest";
import { findIdentifiers } from "../../../src/engine/masking/identifiers.ts";

const found = (text: string) => findIdentifiers(text).map(({ kind, text }) => `${kind} ${text}`);

const wordsOf = (text: string) => text.trim().split(/\s+/);

describe("findIdentifiers", () => {
	it.each([
		[
			"path",
			wordsOf(`
				a/b.ts ~/ab /ab/c ../ab/c ..\\ab\\c C:\\ab\\c C:/ab c:/ab/d a/b_c/d bc/x.a x/y.ts .../ab/c x://abc
				http:/abc/d a.ts a.mts a.cjsx a.json a.json5 a.jsonl a.md a.mdx a.txt a.py a.ipynb a.rs a.go a.java a.kt
				a.rb a.php a.c a.h a.cc a.cpp a.hpp a.cs a.swift a.sh a.ps1 a.sql a.yml a.yaml a.toml a.ini a.cfg a.conf
				a.lock a.xml a.htm a.html a.css a.scss a.vue a.svelte a.svg a.png a.jpg a.jpeg a.gif a.pdf a.csv a.tsv
				a.log a.zip a.gz a.exe a.dll a.so a.proto a.gradle a.tf a.TS a.b-c.ts a-.ts a/b.ts:1234567890 a:b/c.ts
				/bbbbbbbbbb/c`),
		],
		["url", ["https://a.b", "HTTP://a.b/c", "a1+.-://bcd"]],
		["number", ["#12", "12345", "123456", "1234567"]],
		[
			"hash",
			[
				"01234567-89ab-cdef-0123-456789abcdef",
				"01234567-89AB-cdef-0123-456789abcdef",
				"0123456a",
				"abcde1f",
				"ABCDE1F",
			],
		],
		[
			"error_code",
			wordsOf(`
				ENOENT EACCES EPERM EEXIST EISDIR ENOTDIR ENOTEMPTY ENOSPC EROFS EMFILE EPIPE EINVAL ECONNREFUSED
				ECONNRESET ETIMEDOUT EADDRINUSE EHOSTUNREACH ENOTFOUND ERESOLVE EAI_AGAIN ERR_AB ERR_A1_B E404 TS2345
				AB-1234 ABCDEF-123456`),
		],
		[
			"name",
			wordsOf(`
				ERR_A ERR_ab ERR_ABc XERR_AB totalPrice TotalPrice total_price a_b a1B a_b.cD ab::cD a.bC $aB a_1
				user.nameX aZ0 zA9 a0z_Z A_Z`),
		],
	])("finds each %s", (kind, texts) => {
		for (const text of texts) {
			expect(found(text)).toEqual([`${kind} ${text}`]);
			expect(found(`see ${text}, (${text})\nor "${text}"`)).toEqual(new Array(3).fill(`${kind} ${text}`));
		}
	});

	it("finds nothing in plain words, numbers and similar strings", () => {
		const plain = [
			...wordsOf(`
				and/or 1ab://cd a#12 g12345 12345g g12345ab 12345abg a.b+c.ts a/b/c 1/2/3 12/34/5678 ~/a/b /ab ./ab ../ab
				a/bc bc/x.1 /ab/ ab//c https:///a #1 #12a 1234 1a2345 g1234567-89ab-cdef-0123-456789abcde
				01234567-89ab-cdef-0123-456789abcdefa x01234567-89ab-cdef-0123-456789abcdef abcdefa abcd1f abcdeg1
				ENOENTS XENOENT EXYZ ABCDEFG-123 ABC-12 ABC-1234567 aBC-123 a.fg theme.fg a.tsx1 .ts a+b.ts a@b.ts ..ts
				total Total _total total_ HTMLParser HTML aB ab::cd a..bC 1aB a$B a-bC @aBc ab%cD aB:12 aB:12:34
				aB:12:34:56 \\aBc\\ a/b/c\\ aBc=dEf ~aBc aB~c E Ea Eab Error errors Exception a1 abc1 ab1 1ab 12a 1_000
				1,000,000 10.20.30 v1.2.3 1.2.3 12:34:56 2024-01-02 a--b --a-flag $HOME/x a#b x@y.com xX@y.com E12 EE
				\ud83d Zz_ 0x1F a/Z.z`),
			'"aBc":',
			'"aBc" :',
			'\\"aBc\\":',
			"aé Bc",
		];
		expect(plain.filter((text) => found(text).length > 0)).toEqual([]);
		expect(found(plain.map((text) => `(${text})`).join(" "))).toEqual([]);
	});

	it.each([
		["a/b.ts:12", ["path a/b.ts"]],
		["a/b.ts:12:3", ["path a/b.ts"]],
		[".aBc", ["name aBc"]],
		[",aBc.", ["name aBc"]],
		["?aBc=", ["name aBc"]],
		["&aBc&", ["name aBc"]],
		["-aBc-", ["name aBc"]],
		["+aBc+", ["name aBc"]],
		["%aBc%", ["name aBc"]],
		[";aBc;", ["name aBc"]],
		["..aBc..", ["name aBc"]],
		['"aBc"', ["name aBc"]],
		['"aBc"    :', ["name aBc"]],
		['aBc":', ["name aBc"]],
		['"aBc', ["name aBc"]],
		["(aBc)", ["name aBc"]],
		["aBc,dEf", ["name aBc", "name dEf"]],
		['"aBc","d":1', ["name aBc"]],
		["aBc dEf", ["name aBc", "name dEf"]],
		["aBcé", ["name aBc"]],
		["--aFlag", ["name aFlag"]],
		["aBc\ud83d", ["name aBc"]],
		["🦊aBc🦊", ["name aBc"]],
	])("removes punctuation of the sentence: %j", (text, expected) => {
		expect(found(text)).toEqual(expected);
		expect(found(`x ${text} y`)).toEqual(expected);
	});

	it("keeps signs within an identifier, and distinguishes letters from a hash", () => {
		expect(found("-a/b?c=d.ts")).toEqual(["path a/b?c=d.ts"]);
		expect(found(".,:totalPrice")).toEqual(["name totalPrice"]);
		expect(found("a=b/c.ts")).toEqual(["path a=b/c.ts"]);
		expect(found("ERR_AB+c ERR_ab")).toEqual(["name ERR_ab"]);
		expect(found("0000000 ABCDEFA 12e4567")).toEqual(["number 0000000", "hash 12e4567"]);
	});

	it("finds names of up to 80 characters, hashes of up to 64, and others of up to 200", () => {
		const kindOf = (text: string) => findIdentifiers(text)[0]?.kind;
		expect([`${"x".repeat(79)}Y`, `${"x".repeat(80)}Y`].map(kindOf)).toEqual(["name", undefined]);
		expect([`${"a".repeat(63)}1`, `${"a".repeat(64)}1`].map(kindOf)).toEqual(["hash", undefined]);
		const path = (length: number) => `~/a/${"b".repeat(length - 7)}.ts`;
		expect([path(200), path(201)].map(kindOf)).toEqual(["path", undefined]);
	});
});
