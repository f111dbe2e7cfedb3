import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/**
 * What the process holds. What was not collected yet is not held; and what the first collection finds of buffers is given back beside it,
 * by the begin of the second.
 */
export function collectedMemory(): NodeJS.MemoryUsage {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage();
}
