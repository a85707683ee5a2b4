/** The beginnings of media files, written byte by byte: as much as a reader of headers needs. */

const ascii = (text: string) => Array.from(text, (character) => character.charCodeAt(0));
const big = (value: number, bytes: number) => little(value, bytes).reverse();
const little = (value: number, bytes: number) =>
	Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** index) % 256);
const base64 = (...parts: number[][]) => Buffer.from(parts.flat()).toString("base64");
const zeros = (count: number) => Array.from({ length: count }, () => 0);

/** A PNG header of so many pixels, in base64; `extraBytes` of data behind it. */
export function pngOf(width: number, height: number, extraBytes = 0): string {
	const signature = [0x89, ...ascii("PNG"), 0x0d, 0x0a, 0x1a, 0x0a];
	return base64(
		signature,
		big(13, 4),
		ascii("IHDR"),
		big(width, 4),
		big(height, 4),
		[8, 6, 0, 0, 0],
		zeros(extraBytes),
	);
}

/** A JPEG header; `previewBytes` of application data before the frame's own. */
export function jpegOf(width: number, height: number, previewBytes = 0): string {
	const previews: number[][] = [];
	for (let rest = previewBytes; rest > 0; rest -= 60_000) {
		const size = Math.min(60_000, rest);
		previews.push([0xff, 0xe1], big(size + 2, 2), zeros(size));
	}
	const frame = [0xff, 0xc0, ...big(17, 2), 8, ...big(height, 2), ...big(width, 2), 3, ...zeros(9)];
	return base64([0xff, 0xd8], ...previews, frame);
}

export function gifOf(width: number, height: number): string {
	return base64(ascii("GIF89a"), little(width, 2), little(height, 2), zeros(3));
}

export function webpOf(width: number, height: number): string {
	const size = [...little(width - 1, 3), ...little(height - 1, 3)];
	return base64(ascii("RIFF"), little(30, 4), ascii("WEBPVP8X"), little(10, 4), zeros(4), size);
}

/** A WAV file of so many seconds of silence at `rate` 16-bit samples a second, one channel. */
export function wavOf(seconds: number, rate = 8_000): string {
	const format = [...little(1, 2), ...little(1, 2), ...little(rate, 4), ...little(rate * 2, 4), ...little(2, 2), 16, 0];
	const data = zeros(seconds * rate * 2 - 44);
	return base64(ascii("RIFF"), little(0, 4), ascii("WAVEfmt "), little(16, 4), format, ascii("data"), zeros(4), data);
}

/** The page objects of a PDF, `paddingBytes` apart. */
export function pdfOf(pages: number, paddingBytes = 0): string {
	const page = `<< /Type /Page /Parent 2 0 R >>${" ".repeat(paddingBytes)}\n`;
	const tree = "<< /Type /Pages /Kids [] >>\n";
	return Buffer.from(`%PDF-1.7\n${tree}${page.repeat(pages)}`).toString("base64");
}
