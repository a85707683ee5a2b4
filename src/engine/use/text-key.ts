/**
 * A key under which equal texts are found in a map: a hash of 53 bits (cyrb53) with the length. Different texts may share it, so
 * what is found is compared. (V8 hashes strings of over 16 383 characters by their length alone, so that they collide
 * as keys of a map.) Takes time in proportion to the text.
 */
export function textKey(text: string): string {
	let [low, high] = [0xdeadbeef, 0x41c6ce57];
	for (let index = 0; index < text.length; index += 1) {
		const code = text.charCodeAt(index);
		low = Math.imul(low ^ code, 2_654_435_761);
		high = Math.imul(high ^ code, 1_597_334_677);
	}
	low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
	high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
	return `${text.length}:${4_294_967_296 * (2_097_151 & high) + (low >>> 0)}`;
}
