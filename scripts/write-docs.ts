import { writeFileSync } from 'node:fs';
import { configurationReference } from '../src/config/reference.ts';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());
