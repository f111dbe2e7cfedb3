import { language, t } from '../../text/text';
import { quantityText } from './quantity-text';
import type { Measured } from './usage-amounts';

/** Prints an amount of a resource in the language of the console. Reading it in a component subscribes to the language. */
export const quantity = (resource: string, value: number): string => quantityText(resource, value, language.value);

/** Returns the title of figures that were measured: those of requests and limits are named so. */
export const titleOf = (resource: Measured): string => t(resource === 'cpu' ? 'usage.cpu' : 'usage.memory');
