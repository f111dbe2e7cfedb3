/**
 * Writes the generated files of the chart: the schema of its values, the default configuration and its README.
 *
 * Run after a change of a setting or of values.yaml: npm run chart
 */
import './help.ts';
import { writeFileSync } from 'node:fs';
import { chartDirectory, defaultsFile, profilesFile, readmeFile, valuesSchemaFile } from './chart/values-files.ts';

writeFileSync(new URL('values.schema.json', chartDirectory), valuesSchemaFile());
writeFileSync(new URL('files/defaults.yaml', chartDirectory), defaultsFile());
writeFileSync(new URL('files/profiles.yaml', chartDirectory), profilesFile());
writeFileSync(new URL('README.md', chartDirectory), readmeFile());
