import { asProblem } from '../api/problem';
import { setLanguage } from '../text/text';
import { toast } from '../ui/toast';

/** Loads and keeps a language; the page stays as it is if its texts cannot be loaded. */
export function chooseLanguage(tag: string): void {
  setLanguage(tag).catch((error: unknown) => toast('bad', asProblem(error).message));
}
