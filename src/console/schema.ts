/** Answers of the console operations, for the OpenAPI document. */
import { z } from 'zod';

const keyValue = z.object({ key: z.string(), value: z.string() });

export const modulesSchema = z
  .object({
    apiAddress: z.string().describe('Address of the API. Empty: the same origin.'),
    assetsHostPath: z.string(),
    assetsURLPath: z.string().describe('Begins and ends with `/`.'),
    environment: z
      .array(keyValue)
      .describe('Variables of `console.environment` in their order, then those that HandleEnvVars shows to this caller.'),
    _: z.string().describe('Opaque value. A change tells open pages to reload.'),
    envsFilter: z.string(),
    recurveIndex: z.boolean(),
  })
  .meta({
    id: 'Console',
    examples: [
      {
        apiAddress: '',
        assetsHostPath: '',
        assetsURLPath: '/',
        environment: [{ key: 'theme', value: 'dark' }],
        _: 'b1946ac92492d234',
        envsFilter: '^CONSOLE_PUBLIC_',
        recurveIndex: false,
      },
    ],
  });

export const envVarsSchema = z
  .record(z.string(), z.string())
  .meta({ id: 'EnvVars', examples: [{ CONSOLE_PUBLIC_DOCS_URL: 'https://docs.example.com', theme: 'dark' }] });

export const languagesSchema = z
  .object({ availableLanguages: z.array(z.object({ id: z.string().describe('BCP 47'), name: z.string() }).meta({ id: 'LangInfo' })) })
  .meta({ id: 'LangsInfo', examples: [{ availableLanguages: [{ id: 'en', name: 'English' }] }] });

const pluginFile = z
  .object({
    plugin: z.string(),
    path: z.string(),
    contents: z.string(),
    encoding: z.enum(['utf-8', 'base64']),
    contentType: z.string(),
    sha256: z.string().describe('SHA-256 of the decoded bytes, in hexadecimal digits.'),
    configMap: z.string(),
  })
  .meta({ id: 'ConsolePluginFile' });

const listedPlugin = z
  .object({
    name: z.string(),
    displayName: z.string(),
    order: z.int(),
    source: z.enum(['ConfigMap', 'Service']),
    manifest: z.string().describe('Path of its `plugin-manifest.json`, below the base path.'),
    integrity: z.string().optional().describe('Required SHA-256 of the manifest.'),
  })
  .meta({ id: 'ListedConsolePlugin' });

export const pluginFilesSchema = z
  .object({
    apiVersion: z.literal('console.platform.io/v1'),
    kind: z.literal('ConsolePluginFileList'),
    metadata: z.object({
      resourceVersion: z.string(),
      remainingItemCount: z.int().optional().describe('Number of files that did not fit in the answer.'),
    }),
    items: z.array(pluginFile),
    plugins: z.array(listedPlugin).describe('The enabled ConsolePlugins, which a console runs.'),
  })
  .meta({
    id: 'ConsolePluginFileList',
    examples: [
      {
        apiVersion: 'console.platform.io/v1',
        kind: 'ConsolePluginFileList',
        metadata: { resourceVersion: '48213' },
        items: [
          {
            plugin: 'cost-report',
            path: '/plugins/cost-report/plugin-manifest.json',
            contents: '{"name":"cost-report"}',
            encoding: 'utf-8',
            contentType: 'application/json',
            sha256: '6b3b5ed9a2d6a5b5b7f8d9a64a1b58c9c6a0a5e5f6ad3f0b1c8a3f5f0f0c9b7e',
            configMap: 'cost-report-console',
          },
        ],
        plugins: [
          {
            name: 'cost-report',
            displayName: 'Cost report',
            order: 1000,
            source: 'ConfigMap',
            manifest: '/plugins/cost-report/plugin-manifest.json',
          },
        ],
      },
    ],
  });
