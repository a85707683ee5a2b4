import { expect, it } from "vitest";
import { dropUnfilledSettings } from "../../src/config/drop-unfilled-settings.ts";

it("takes out what a host did not fill in, and nothing else", () => {
	const environment = {
		PALIMPSEST_ARCHIVE: "$" + "{user_config.archive_folder}",
		PALIMPSEST_LOCALE: "en",
		PALIMPSEST_NAMESPACE: "a$" + "{b}",
		OTHER: "$" + "{user_config.archive_folder}",
	};
	dropUnfilledSettings(environment);
	expect(environment).toEqual({
		PALIMPSEST_LOCALE: "en",
		PALIMPSEST_NAMESPACE: "a$" + "{b}",
		OTHER: "$" + "{user_config.archive_folder}",
	});
});
