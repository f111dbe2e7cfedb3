// A collector of OpenTelemetry for tests: its receiver of OTLP, and its exporter, which passes on in the encoding that tests read. The
// program that the project builds of both has hundreds of modules for clouds beside them.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

// host has no extensions.
type host struct{}

func (host) GetExtensions() map[component.ID]component.Component { return nil }

func configured(config component.Config, settings map[string]any) component.Config {
	must(confmap.NewFromStringMap(settings).Unmarshal(config))
	return config
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Takes logs, and passes them on as JSON and without a queue: the sender learns what becomes of its logs.
func main() {
	address := flag.String("address", "", "address of the receiver")
	maxBytes := flag.Int("max-bytes", 0, "bound of a request")
	url := flag.String("url", "", "address of the next receiver")
	flag.Parse()
	logger, err := zap.NewProduction()
	must(err)
	ctx := context.Background()
	telemetry := component.TelemetrySettings{
		Logger:         logger,
		TracerProvider: nooptrace.NewTracerProvider(),
		MeterProvider:  noopmetric.NewMeterProvider(),
		Resource:       pcommon.NewResource(),
	}

	to := otlphttpexporter.NewFactory()
	logs, err := to.CreateLogs(ctx, exporter.Settings{ID: component.NewID(to.Type()), TelemetrySettings: telemetry},
		configured(to.CreateDefaultConfig(), map[string]any{
			"endpoint": *url, "encoding": "json", "compression": "none",
			"sending_queue": map[string]any{"enabled": false}, "retry_on_failure": map[string]any{"enabled": false},
		}))
	must(err)
	must(logs.Start(ctx, host{}))

	from := otlpreceiver.NewFactory()
	received, err := from.CreateLogs(ctx, receiver.Settings{ID: component.NewID(from.Type()), TelemetrySettings: telemetry},
		configured(from.CreateDefaultConfig(), map[string]any{
			"protocols": map[string]any{"http": map[string]any{"endpoint": *address, "max_request_body_size": *maxBytes}},
		}), logs)
	must(err)
	must(received.Start(ctx, host{}))
	logger.Info("collector is listening", zap.String("address", *address))

	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	<-stopped
	must(received.Shutdown(ctx))
	must(logs.Shutdown(ctx))
}
