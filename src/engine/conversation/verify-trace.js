import { editTree, equalsJson } from "./apply.js";
import { isJsonObject } from "./json.js";
import { once } from "./lists.js";
import { childPath, jsonPointer, recordOf } from "./paths.js";
export const isNew = -1;
/** Checks that the documents differ only at the places of the plan, and that keys keep their order. */
export function compareDocuments(what) {
	const { before, after, plan, base, report } = what;
	const { messages } = before.transcript;
	const deepest = messages.reduce(
		(most, { paths }) => paths.reduce((one, path) => Math.max(one, path.length), most),
		0,
	);
	/** Items that move within their list: where they are afterwards; `undefined` if they are removed or replaced. */
	const moves = [];
	// A move that is deeper than every message leaves the messages in their places.
	const move = (from, to) => {
		if (from.length <= deepest) moves.push([from, to]);
	};
	const written = new Set();
	const differs = (path) => report("untouched_parts_identical", jsonPointer(path) || "the whole document");
	const compare = (old, current, tree, path, oldPath) => {
		const { edit, children } = tree ?? {};
		if (edit?.kind === "replace") {
			move(oldPath, undefined);
			if (edit.reason === "summary") written.add(jsonPointer(path));
			if (!equalsJson(edit.replacement, current)) differs(path);
		} else if (!children) {
			if (!Object.is(old, current)) differs(path);
		} else if (Array.isArray(old) && Array.isArray(current)) {
			let position = 0;
			for (let index = 0; index <= old.length; index += 1) {
				const child = children.get(index);
				for (const { inserts, value } of child?.inserts ?? []) {
					if (inserts === "message") written.add(jsonPointer([...path, position]));
					if (!equalsJson(value, current[position])) differs(path);
					position += 1;
				}
				if (index === old.length) continue;
				if (child?.edit?.kind === "remove") {
					move(childPath(oldPath, index), undefined);
					continue;
				}
				// Most items have no edit and stay in their place. Building their paths takes longer than comparing them.
				if (child || position !== index || !Object.is(old[index], current[position])) {
					const [from, to] = [childPath(oldPath, index), childPath(path, position)];
					if (position !== index) move(from, to);
					compare(old[index], current[position], child, to, from);
				}
				position += 1;
			}
			if (position !== current.length) differs(path);
		} else if (isJsonObject(old) && isJsonObject(current)) {
			const keys = Object.keys(old).filter((key) => children.get(key)?.edit?.kind !== "remove");
			if (!equalsJson(keys, Object.keys(current))) differs(path);
			else
				for (const key of keys) {
					compare(old[key], current[key], children.get(key), childPath(path, key), childPath(oldPath, key));
				}
		} else differs(path);
	};
	compare(before.document, after.document, editTree(plan), [], []);
	const moved = new Map(moves.map(([from, to]) => [jsonPointer(from), to && jsonPointer(to)]));
	const placeOf = (old) => {
		let depth = moved.size === 0 ? 0 : old.length;
		while (depth > 0 && !moved.has(jsonPointer(old.slice(0, depth)))) depth -= 1;
		const place = depth === 0 ? "" : moved.get(jsonPointer(old.slice(0, depth)));
		return place === undefined ? [] : [place + jsonPointer(old.slice(depth))];
	};
	const places = messages.map(({ paths }) => paths.flatMap(placeOf));
	const kept = places.flatMap((left, index) => left.map((place) => ({ place, index })));
	const messageAt = new Map(kept.map(({ place, index }) => [place, index]));
	// If one message of a record is left, it is read as the whole record.
	const messageIn = once(() => new Map(kept.map(({ place, index }) => [recordOf(place, base), index])));
	const pointers = after.transcript.messages.map(({ paths }) => paths.map(jsonPointer));
	const origins = pointers.map((own) => {
		const firstIn = (at) => own.map((pointer) => at.get(pointer)).find((index) => index !== undefined);
		return firstIn(messageAt) ?? firstIn(messageIn()) ?? isNew;
	});
	return { origins, pointers, places, written };
}
