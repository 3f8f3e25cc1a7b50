// Package egress decides which requests leave through the proxy.
package egress

import (
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// Proxy returns the proxy of a request, or nil.
func Proxy(proxy, except, target string) (*url.URL, error) {
	config := httpproxy.Config{HTTPSProxy: proxy, NoProxy: except}
	parsed, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	return config.ProxyFunc()(parsed)
}
