/**
 * Cuts a long text into windows of at most `size` code units, where that can be done without changing its tokens:
 * between an ASCII letter or digit and white space, where every encoding here ends a piece. Only a window whose second
 * half has no such place is cut in the middle of a run (never of a code point); each such cut may change the count by a few.
 */
export function cutIntoWindows(text: string, size: number): string[] {
	const windows: string[] = [];
	let start = 0;
	while (text.length - start > size) {
		const end = lastSafeCut(text, start + Math.floor(size / 2), start + size) ?? codePointBoundary(text, start + size);
		windows.push(text.slice(start, end));
		start = end;
	}
	windows.push(text.slice(start));
	return windows;
}

function lastSafeCut(text: string, from: number, to: number): number | undefined {
	for (let cut = to; cut > from; cut--) {
		if (isSpace(text.charCodeAt(cut)) && isWord(text.charCodeAt(cut - 1))) return cut;
	}
	return undefined;
}

function isSpace(code: number): boolean {
	return code === 32 || code === 10 || code === 13 || code === 9;
}

function isWord(code: number): boolean {
	return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

function codePointBoundary(text: string, cut: number): number {
	const code = text.charCodeAt(cut);
	return code >= 0xdc00 && code <= 0xdfff ? cut - 1 : cut;
}
