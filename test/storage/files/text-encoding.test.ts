import { expect, it } from "vitest";
import { decodeOutput, outputEncoding } from "../../../src/storage/files/text-encoding.ts";

const text = "Größe: 12 files\r\nerror CS0103: the name ‘wert’\r\n".repeat(20);
const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16();

it.each([
	["UTF-8", Buffer.from(text)],
	["UTF-16 with a byte order mark", Buffer.from(`\ufeff${text}`, "utf16le")],
	["UTF-16 without one", Buffer.from(text, "utf16le")],
	["big-endian UTF-16 with one", swapped(Buffer.from(`\ufeff${text}`, "utf16le"))],
	["big-endian UTF-16 without one", swapped(Buffer.from(text, "utf16le"))],
])("decodes %s", (_, bytes) => {
	expect(decodeOutput(bytes)).toBe(text);
});

it.each([
	["small numbers of two bytes", Buffer.from(Uint16Array.from({ length: 400 }, (_, index) => index % 30).buffer)],
	["numbers of four bytes", Buffer.from(Uint32Array.from({ length: 400 }, (_, index) => index + 40).buffer)],
	["no bytes", Buffer.alloc(0)],
	["NULs", Buffer.alloc(500)],
	["UTF-32", Buffer.from([0xff, 0xfe, 0, 0, 65, 0, 0, 0])],
])("reads %s as bytes", (_, bytes) => {
	expect(outputEncoding(bytes)).toBe("utf-8");
});
