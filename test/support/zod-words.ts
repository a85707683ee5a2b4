/** What zod says in its own messages, and the names of its issues' members. */
export const zodWords =
	/Invalid (?:input|option|key|element|type|string|value)|Unrecognized key|Too (?:small|big)|expected (?:string|number|boolean|array|object|int|nonoptional)\b|received|"(?:code|path|message)":|invalid_(?:type|value|union|key)|unrecognized_keys|too_(?:small|big)/i;
