import type { NoticeWordings } from "../../policy/wordings.ts";

/** What stands in a shortened text in the place of what was left out: templates of the policy's locale. */
export type NoticeWording = NoticeWordings;
