// A CA, and certificates it has issued, made for one test.
#ifndef MESHWRIGHT_SERVICE_CERTIFICATES_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_CERTIFICATES_FOR_TEST_H_

#include <memory>
#include <string>

struct evp_pkey_st;
struct x509_st;

namespace meshwright {

class CertificatesForTest {
 public:
  struct Issued {
    std::string certificate;  // PEM.
    std::string key;
  };

  CertificatesForTest();

  std::string ca() const;
  // `names`: "IP:127.0.0.1,DNS:localhost".
  Issued Issue(const std::string& names) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_CERTIFICATES_FOR_TEST_H_
