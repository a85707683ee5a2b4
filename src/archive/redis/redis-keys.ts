import { hexDigitsOfRef } from "../ref.ts";

/**
 * The keys of a namespace. The braces keep them on one node of a Redis Cluster.
 *
 * - `text:{hash}`: the bytes of a text;
 * - `about:{hash}`: a hash, for each tool call what the text was (JSON);
 * - `ref:{15 digits}`: the hash whose ref has these digits;
 * - `call:{call}`: a sorted set of the hashes of a tool call;
 * - `used`: a sorted set of all hashes by when they were last used, in ms;
 * - `swept`: there for an hour after a sweep that nobody asked for;
 * - `sweep-intent`: what such a sweep has left for a later one to take away (JSON).
 */
export function redisKeys(namespace: string) {
	const prefix = `palimpsest:{${namespace}}:`;
	return {
		all: `${prefix}*`,
		text: (hash: string) => `${prefix}text:${hash}`,
		about: (hash: string) => `${prefix}about:${hash}`,
		ref: (hash: string) => `${prefix}ref:${hash.slice(0, hexDigitsOfRef)}`,
		call: (call: string) => `${prefix}call:${call}`,
		calls: `${prefix}call:*`,
		used: `${prefix}used`,
		sweepMarker: `${prefix}swept`,
		sweepIntent: `${prefix}sweep-intent`,
	};
}

export type RedisKeys = ReturnType<typeof redisKeys>;
