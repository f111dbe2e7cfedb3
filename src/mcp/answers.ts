/** Answers of tools. Our own words are fixed sentences in the first text; data of the cluster is JSON beside them. */

import { isMembers } from '@atrium/objects/members.ts';
import { type Status, StatusError } from '@atrium/objects/status.ts';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ToolAnswer } from './tool.ts';
import { shownWithin } from './untrusted.ts';

/** Characters of the data of an answer: a model has to read them. */
const maxLength = 48_000;

const cutNote = 'The answer was too long: `cut` names the parts that are left out. Ask for less, or for one part.';

/** @param note fixed words, which hold no text of the cluster or of the caller */
export function toolResult({ note, data }: ToolAnswer): CallToolResult {
  const { value, cuts } = shownWithin(data, maxLength);
  const shown = { ...(isMembers(value) ? value : {}), ...(cuts.length > 0 && { cut: cuts }) };
  return resultWith(cuts.length > 0 ? `${note} ${cutNote}` : note, shown);
}

export function toolFailure({ code, reason, message, details }: Status): CallToolResult {
  const causes = details?.causes?.map(({ reason: why, message: what, field }) => ({ reason: why, message: what, field }));
  const error = { code, reason, message, ...(causes && { causes }) };
  const { value } = shownWithin({ error }, maxLength);
  return { ...resultWith(adviceOf(code, details?.causes?.[0]?.reason), isMembers(value) ? value : {}), isError: true };
}

const resultWith = (note: string, data: Record<string, unknown>): CallToolResult => ({
  content: [
    { type: 'text', text: note },
    { type: 'text', text: JSON.stringify(data) },
  ],
  structuredContent: data,
});

const adviceByCause: Readonly<Record<string, string>> = {
  AgentNotAllowed: 'No agent may do this. Tell the user, who can do it in the console.',
  NotProposable: 'No agent may propose this. Tell the user, who can do it in the console.',
  OutsideScope: 'The user has not lent this right to you. Tell the user, who can do it in the console.',
  StepUpRequired: 'The operation requires a recent login of the user. Tell the user, who can do it in the console.',
  StepUpNotPossible: 'The operation requires a recent login of the user. Tell the user, who can do it in the console.',
};

const adviceByCode: Readonly<Record<number, string>> = {
  400: 'The arguments are not valid. Correct the fields that the JSON names, and call the tool again.',
  401: 'The credential is no longer valid. The user has to connect you again.',
  403: 'The user has no right to do this. The tool why_not explains it, and names roles that the user can ask for.',
  404: 'No such object or kind exists, or the user may not see it. The tools list and search find names.',
  409: 'The state of the cluster does not allow it. The JSON has the reason.',
  410: 'The cursor has expired. Begin again without it.',
  413: 'The arguments are too long.',
  422: 'The arguments are not valid. Correct the fields that the JSON names, and call the tool again.',
  429: 'Too many calls for this user. Wait, and send fewer calls.',
};

const outage = 'The service or the cluster cannot answer now. Try again later, and assume nothing about the answer.';

const adviceOf = (code: number, cause = ''): string => adviceByCause[cause] ?? adviceByCode[code] ?? outage;

/** Returns the Status of a failure; undefined for a defect. */
export const statusOf = (error: unknown): Status | undefined => (error instanceof StatusError ? error.status : undefined);
