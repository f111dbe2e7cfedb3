import { writeFileSync } from 'node:fs';
import { chartDirectory, readmeFile, valuesSchemaFile } from './chart/values-files.ts';

writeFileSync(new URL('values.schema.json', chartDirectory), valuesSchemaFile());
writeFileSync(new URL('README.md', chartDirectory), readmeFile());
