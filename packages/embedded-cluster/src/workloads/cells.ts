/** Parts of objects as texts. */

import { selectorText as text } from '../../../../src/api/label-selector.ts';

/** Returns a selector as kubectl takes it. */
export const selectorText = (selector: unknown): string => text((selector ?? {}) as Parameters<typeof text>[0]) || '<none>';
