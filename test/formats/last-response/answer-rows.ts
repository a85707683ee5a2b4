import type { AnswerRow } from "./answer.ts";
import { blockAnswers } from "./block-answers.ts";
import { chatAnswers } from "./chat-answers.ts";
import { vercelAnswers } from "./vercel-answers.ts";

/** Every shape of answer that is read. */
export const answerRows: readonly AnswerRow[] = [...chatAnswers, ...blockAnswers, ...vercelAnswers];
