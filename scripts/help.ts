/** Prints the first comment of the started script for `--help`, and ends the process. A script imports it first, so that it does nothing. */
import { readFileSync } from 'node:fs';

const [, script = '', ...options] = process.argv;
if (options.some((option) => ['--help', '-h'].includes(option))) {
  const [, comment = ''] = /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//.exec(readFileSync(script, 'utf8')) ?? [];
  console.log(comment.replaceAll(/^ \* ?/gm, '').trim());
  process.exit(0);
}
