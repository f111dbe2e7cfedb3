/**
 * Prints the section of a version in CHANGELOG.md. Fails unless package and chart have that version.
 *
 * Run: node scripts/release-notes.js 1.0.0
 */
import { readFileSync } from 'node:fs';

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const [version = ''] = process.argv.slice(2);
const chart = read('deploy/helm/atrium/Chart.yaml');
const [, section = ''] = read('CHANGELOG.md').split(`\n## ${version}\n`);
const [notes = ''] = section.split('\n## ');
const problems = [
  ...(JSON.parse(read('package.json')).version === version ? [] : ['package.json has another version']),
  ...(chart.includes(`\nversion: ${version}\n`) ? [] : ['Chart.yaml has another version']),
  ...(notes.trim() ? [] : [`CHANGELOG.md has no section "## ${version}"`]),
];
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else console.log(notes.trim());
