import { z } from "zod";
import { alternatives, describeValue, invalidPolicy, pathLabel, suggestion, valueAt } from "./errors.js";
import { policyLayerSchema, policySchema } from "./schema.js";
/** `source` names the origin in errors. `observation_masking.schema1` is read as `mask`. Throws `invalid_policy`. */
export function checkPolicyLayer(value, source) {
	const { layer, problems } = inspectPolicyLayer(value);
	if (problems.length > 0) throw invalidPolicy(source, problems);
	return layer;
}
const alias = "observation_masking";
const acceptedSchema = policyLayerSchema.extend({
	[alias]: z.strictObject({ schema1: policyLayerSchema.shape.mask }).optional(),
});
/** Never throws, never follows a prototype. */
export function inspectPolicyLayer(value) {
	const problems = [];
	const known = knownPart(acceptedSchema, value, { path: [], problems });
	const checked = acceptedSchema.safeParse(known ?? {});
	problems.push(...(checked.error?.issues ?? []).map((issue) => describeProblem(issue, known)));
	const { [alias]: aliased, ...layer } = checked.success ? checked.data : {};
	if (aliased === undefined) return { layer, problems };
	if (layer.mask !== undefined) {
		problems.push("observation_masking.schema1: is another name of mask, which is set too. Keep one of the two.");
	}
	return { layer: { ...layer, mask: aliased.schema1 ?? {} }, problems };
}
/** Copies the known keys of a table. Each unknown key, and each value that should be a table, becomes a problem. */
function knownPart(schema, value, { path, problems }) {
	if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date) {
		problems.push(`${pathLabel(path)}expected a table, got ${describeValue(value, { text: "quoted" })}`);
		return undefined;
	}
	const known = {};
	for (const [key, inner] of Object.entries(value)) {
		if (inner === undefined) continue;
		const innerPath = [...path, key];
		if (!Object.hasOwn(schema.shape, key)) {
			problems.push(`${pathLabel(innerPath)}unknown key.${hintFor(innerPath, Object.keys(schema.shape))}`);
			continue;
		}
		const field = schema.shape[key].unwrap();
		const kept = field instanceof z.ZodObject ? knownPart(field, inner, { path: innerPath, problems }) : inner;
		if (kept !== undefined) known[key] = kept;
	}
	return known;
}
function describeProblem(issue, root) {
	if (issue.code === "custom") return `${pathLabel(issue.path)}${issue.message}`;
	let schema = acceptedFields();
	for (const key of issue.path) schema = fieldOf(schema, key);
	const takesText = [schema, ...(schema?.anyOf ?? [])].some((one) => one?.type === "string" && one.enum === undefined);
	const got = describeValue(valueAt(root, issue.path), { text: takesText ? "length" : "quoted", object: "a table" });
	return `${pathLabel(issue.path)}expected ${describeType(schema ?? {})}, got ${got}`;
}
function fieldOf(schema, key) {
	if (typeof key === "number") return (schema?.anyOf?.find(({ items }) => items !== undefined) ?? schema)?.items;
	const others = schema?.additionalProperties;
	return schema?.properties?.[String(key)] ?? (typeof others === "object" ? others : undefined);
}
function hintFor(path, siblings) {
	const known = keysUnder(acceptedFields(), "").filter((key) => path[0] === alias || !key.startsWith(alias));
	return suggestion(path.join("."), known, ` Known here: ${siblings.filter((key) => key !== alias).join(", ")}.`);
}
function keysUnder(schema, prefix) {
	return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
		const key = `${prefix}${name}`;
		return [key, ...keysUnder(field, `${key}.`)];
	});
}
let accepted;
/** Made at the first error, since only errors need it. */
function acceptedFields() {
	accepted ??= z.toJSONSchema(acceptedSchema);
	return accepted;
}
export function policyFields(schema = policyJsonSchema(), prefix = "") {
	return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
		const key = `${prefix}${name}`;
		if (field.properties !== undefined) return policyFields(field, `${key}.`);
		const environmentName = `PALIMPSEST_${key.replaceAll(".", "_").toUpperCase()}`;
		const { default: value, description = "" } = field;
		return [{ key, type: describeType(field), default: value, description, environmentName }];
	});
}
let made;
export function policyJsonSchema() {
	// Kept, since a server uses it five times at its start.
	made ??= { ...z.toJSONSchema(policySchema, { target: "draft-2020-12", io: "input" }), title: "Palimpsest policy" };
	return made;
}
function describeType(schema) {
	if (schema.anyOf !== undefined) return schema.anyOf.map(describeType).join(", or ");
	if (schema.enum !== undefined) return alternatives(schema.enum.map((value) => JSON.stringify(value)));
	if (schema.type === "integer") return `a whole number${range(schema)}`;
	if (schema.type === "number") return `a number${range(schema)}`;
	if (schema.type === "string") return `a text${length(schema)}`;
	if (schema.type === "array") return `a list of ${describeType(schema.items ?? {})}`;
	return { boolean: "true or false", object: "a table" }[schema.type ?? ""] ?? schema.type ?? "any value";
}
function range({ minimum, maximum, exclusiveMinimum }) {
	const bounds = [];
	if (exclusiveMinimum !== undefined) bounds.push(`above ${exclusiveMinimum}`);
	if (minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER) bounds.push(`at least ${minimum}`);
	if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) bounds.push(`at most ${maximum}`);
	return bounds.length === 0 ? "" : `, ${bounds.join(" and ")}`;
}
function length({ minLength = 0, maxLength }) {
	if (maxLength !== undefined) return ` of ${minLength} to ${maxLength} characters`;
	return minLength > 0 ? ` of at least ${minLength} character${minLength > 1 ? "s" : ""}` : "";
}
