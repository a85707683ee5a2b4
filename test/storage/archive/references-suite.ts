import { afterAll, describe, expect, it } from "vitest";
import { type Archive, defaultRetention } from "../../../src/storage/archive/archive.ts";
import type { Driver, Entry } from "../../../src/storage/archive/driver.ts";
import { formsOfRef } from "../../../src/storage/archive/reference.ts";
import type { OpenForSuite } from "./archive-suite.ts";

/** Two texts whose SHA-256 begin with the same 32 bits, so that older versions gave them the same 8 characters. */
export const alike = ["output 52653\n", "output 134752\n"] as const;
const result = (text: string) => ({ text, kind: "result", toolCallId: text.slice(0, -1) }) as const;

/** How the suite opens a driver of its own, for texts that no hash of theirs could give one reference. */
export type OpenDriver = (options: {
	readonly namespace: string;
	readonly retention: typeof defaultRetention;
	readonly now: () => number;
}) => Promise<Driver>;

/** What every archive must hold to about references. */
export function describeReferences(name: string, open: OpenForSuite, openDriver: OpenDriver): void {
	const opened: { close: () => Promise<void> }[] = [];
	let count = 0;
	const namespace = () => {
		count += 1;
		return `references-${process.pid}-${count}`;
	};
	const begin = async (): Promise<Archive> => {
		const archive = await open({ namespace: namespace() });
		opened.push(archive);
		return archive;
	};
	const driverOf = async (): Promise<Driver> => {
		const driver = await openDriver({ namespace: namespace(), retention: defaultRetention, now: Date.now });
		opened.push(driver);
		return driver;
	};
	afterAll(() => Promise.all(opened.map((one) => one.close())));

	describe(`${name}: a reference`, () => {
		it("names each text in 12 characters, and is read in every form of older versions", async () => {
			const archive = await begin();
			const texts = ["one", "two 漢", ""];
			const refs = await archive.put(texts.map(result));
			for (const [index, ref] of refs.entries()) {
				const forms = formsOfRef(ref);
				expect(forms.map(({ length }) => length)).toEqual([12, 8, 20]);
				for (const form of forms) {
					expect(await archive.has(form)).toBe(true);
					expect(await archive.get(form)).toMatchObject({ ref, text: texts[index] });
				}
			}
			for (const form of formsOfRef(archive.refOf("another"))) expect(await archive.has(form)).toBe(false);
		});

		it("of 8 characters that two texts share gives neither, and both are read by their own", async () => {
			const archive = await begin();
			const refs = await archive.put(alike.map(result));
			const [shared = ""] = refs.map((ref) => formsOfRef(ref)[1]);
			await expect(archive.get(shared)).rejects.toMatchObject({ code: "ambiguous_reference" });
			for (const [index, ref] of refs.entries()) {
				for (const form of [ref, formsOfRef(ref)[2] as string])
					expect((await archive.get(form)).text).toBe(alike[index]);
			}
		});

		it("that a text has is refused to another text, whether it comes later or with it, and the first is kept", async () => {
			const hashes = [`${"ab".repeat(8)}${"0".repeat(48)}`, `${"ab".repeat(8)}${"1".repeat(48)}`] as const;
			const entryOf = (hash: string): Entry => {
				const pieces = () => [Buffer.from(`text of ${hash}`)];
				const about = { kind: "text", chars: 72, bytes: 72, archivedAt: 1, redactions: 0 } as const;
				return { hash, pieces, about };
			};
			const [first, second] = [entryOf(hashes[0]), entryOf(hashes[1])];
			const driver = await driverOf();
			await driver.write([first], "before");
			await expect(driver.write([second], "before")).rejects.toMatchObject({ code: "ambiguous_reference" });
			expect(await driver.hashesFrom([hashes[0].slice(0, 15)])).toEqual([hashes[0]]);
			let read = "";
			for await (const piece of (await driver.read(hashes[0])) ?? []) read += piece;
			expect(read).toBe(`text of ${hashes[0]}`);
			const together = (await driverOf()).write([first, second], "before");
			await expect(together).rejects.toMatchObject({ code: "ambiguous_reference" });
		});
	});
}
