import crypto from "node:crypto";
import { compactJson, isJsonObject } from "../../engine/conversation/json.js";
import { jsonPointer } from "../../engine/conversation/paths.js";
// This file does not load jsonc-parser: the server and the hooks start without it.
/** SHA-256 (hex) of a string's UTF-8, or of any other value's compact JSON. */
export function sha256Of(value) {
	return crypto.hash("sha256", typeof value === "string" ? value : compactJson(value), "hex");
}
const mostPlaces = 10;
/** Pointers (at most 10) of integers beyond 2^53: the text may differ. No recursion, since the depth is untrusted. */
export function unsafeIntegers(document) {
	const places = [];
	const open = [{ value: document, key: "", parent: undefined }];
	for (let next = open.pop(); next && places.length < mostPlaces; next = open.pop()) {
		const { value } = next;
		if (isUnsafe(value)) places.push(jsonPointer(pathOf(next)));
		if (typeof value !== "object" || value === null) continue;
		const keys = Object.keys(value);
		// Backwards, so that the first one is popped first.
		for (let index = keys.length - 1; index >= 0; index -= 1) {
			const key = keys[index];
			const member = value[key];
			if (isUnsafe(member) || (typeof member === "object" && member !== null)) {
				open.push({ value: member, key, parent: next });
			}
		}
	}
	return places;
}
function isUnsafe(value) {
	return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}
export function pathOf(found) {
	const path = [];
	for (let at = found; at.parent; at = at.parent) path.push(at.key);
	return path.reverse();
}
/** The member at the first of the keys that the object itself has. SDKs spell keys differently. */
export function memberAt(object, ...keys) {
	const key = keys.find((one) => Object.hasOwn(object, one));
	return key === undefined ? undefined : object[key];
}
export function stringAt(object, key) {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "string" ? value : undefined;
}
/** A non-empty string: an empty id pairs nothing. */
export function idAt(object, key) {
	return stringAt(object, key) || undefined;
}
export function booleanAt(object, key) {
	const value = memberAt(object, key);
	return typeof value === "boolean" ? value : undefined;
}
export function hasMember(object, ...keys) {
	return keys.some((key) => Object.hasOwn(object, key));
}
export function numberAt(object, key) {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
/** Smaller numbers are seconds: as milliseconds they would be before 1973. */
const firstMilliseconds = 100_000_000_000;
/** A time in ms since 1970: an ISO text (of UTC if it names no zone), or a number of seconds or milliseconds. */
export function timeAt(object, key) {
	const number = numberAt(object, key);
	if (number !== undefined) return number > 0 && number < firstMilliseconds ? number * 1000 : number;
	const text = stringAt(object, key);
	if (text === undefined) return undefined;
	const time = Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
	return Number.isNaN(time) ? undefined : time;
}
export function listOf(value) {
	return Array.isArray(value) ? value : [];
}
export function objectOf(value) {
	return isJsonObject(value) ? value : {};
}
export function objectsOf(value) {
	return listOf(value).filter(isJsonObject);
}
export function membersOf(value) {
	if (Array.isArray(value)) return [...value.entries()];
	return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
/** The text by which the tokens of a value are counted. */
export function asCountedText(value) {
	return typeof value === "string" ? value : compactJson(value);
}
