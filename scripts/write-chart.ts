import { writeFileSync } from 'node:fs';
import { chartDirectory, defaultsFile, readmeFile, valuesSchemaFile } from './chart/values-files.ts';

writeFileSync(new URL('values.schema.json', chartDirectory), valuesSchemaFile());
writeFileSync(new URL('files/defaults.yaml', chartDirectory), defaultsFile());
writeFileSync(new URL('README.md', chartDirectory), readmeFile());
