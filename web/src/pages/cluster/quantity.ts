import { language } from '../../text/text';
import { quantityText } from './sections/pod/requests';

/** Prints an amount of a resource in the language of the console. Reading it in a component subscribes to the language. */
export const quantity = (resource: string, value: number): string => quantityText(resource, value, language.value);
