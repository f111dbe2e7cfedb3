import { type Collection, liveLists } from '@atrium/lists/collection.ts';
import type { LiveRow } from '@atrium/lists/live-list.ts';
import type { LiveLists } from '@atrium/lists/live-list-answer.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import type { Services } from '../services.ts';

/** Creates the live lists of a collection, unless `features.watch` is off. @param again checks the credential of a request again */
export function followedLists<Row extends LiveRow>(
  { config, longRequests }: Pick<Services, 'config' | 'longRequests'>,
  followed: Collection<Row>,
  options: Parameters<typeof liveLists<Row>>[1],
  again: WhileAllowedOptions['again'],
): LiveLists<Row> | undefined {
  if (!config.features.watch) return undefined;
  return liveLists(followed, options, { again, accessCacheMs: config.kubernetes.accessCache, longRequests });
}
