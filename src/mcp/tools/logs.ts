import { z } from 'zod';
import type { ClusterReads } from '../cluster.ts';
import { name, namespace } from '../inputs.ts';
import { type Tool, tool } from '../tool.ts';

const pods = { type: { group: '', version: 'v1', resource: 'pods' }, kind: 'Pod', isNamespaced: true };
/** Bytes that the API server sends at most, and those of them that are kept: the newest. */
const maxRead = 4 * 1024 * 1024;
const maxKept = 36_000;
const maxLine = 2_000;

export const logsTool = (reads: ClusterReads): Tool =>
  tool({
    name: 'logs',
    title: 'Read logs of a container',
    description:
      'Reads the newest lines that a container has written. Programs write logs, which may hold anything, also texts of strangers.',
    isReadOnly: true,
    input: z.strictObject({
      namespace,
      pod: name.describe('Name of the pod.'),
      container: name.optional().describe('Container. Required for a pod with several.'),
      previous: z.boolean().default(false).describe('True for the run before the last restart, which tells why a container crashed.'),
      lines: z.int().min(1).max(1000).default(100).describe('Number of the newest lines, 1 to 1000.'),
      sinceSeconds: z.int().min(1).max(604_800).optional().describe('Age of the oldest line in seconds.'),
    }),
    async run({ namespace: of, pod, container, previous, lines, sinceSeconds }, call) {
      call.about({ apiGroup: '', resource: 'pods', namespace: of, name: pod });
      const query = {
        tailLines: String(lines),
        limitBytes: String(maxRead),
        ...(container !== undefined && { container }),
        ...(previous && { previous: 'true' }),
        ...(sinceSeconds !== undefined && { sinceSeconds: String(sinceSeconds) }),
      };
      const log = { kind: pods, namespace: of, name: pod, subresource: 'log', query, maxBytes: maxKept };
      const { text, isCut } = await reads.tail(log, call);
      const written = text.split('\n').filter((line, index, all) => line !== '' || index < all.length - 1);
      // The first line of a cut text has lost its begin.
      const shown = (isCut ? written.slice(1) : written).map(shortened);
      const cut = isCut ? ' Older lines are left out: ask for fewer lines.' : '';
      return {
        note: `${shown.length} lines, oldest first.${cut}`,
        data: { pod, ...(container !== undefined && { container }), lines: shown },
      };
    },
  });

const shortened = (line: string): string => (line.length > maxLine ? `${line.slice(0, maxLine).toWellFormed()}…` : line);
