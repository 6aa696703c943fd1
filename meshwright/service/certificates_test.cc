#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <functional>

#include "meshwright/service/certificates_for_test.h"

namespace meshwright {
namespace {

std::shared_ptr<EVP_PKEY> MakeKey() {
  return {EVP_EC_gen("P-256"), EVP_PKEY_free};
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::shared_ptr<X509> MakeCertificate(const std::string& name, EVP_PKEY* key) {
  static long serial = 1;
  std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

std::string Text(const std::function<void(BIO*)>& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()),
                                                         BIO_free);
  write(memory.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

CertificatesForTest::CertificatesForTest()
    : key_(MakeKey()), certificate_(MakeCertificate("test CA", key_.get())) {
  X509_set_issuer_name(certificate_.get(),
                       X509_get_subject_name(certificate_.get()));
  AddExtension(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_.get(), key_.get(), EVP_sha256());
}

std::string CertificatesForTest::ca() const {
  return Text([&](BIO* to) { PEM_write_bio_X509(to, certificate_.get()); });
}

CertificatesForTest::Issued CertificatesForTest::Issue(
    const std::string& names) const {
  const std::shared_ptr<EVP_PKEY> key = MakeKey();
  const std::shared_ptr<X509> issued = MakeCertificate("test", key.get());
  X509_set_issuer_name(issued.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(issued.get(), NID_subject_alt_name, names);
  X509_sign(issued.get(), key_.get(), EVP_sha256());
  return {.certificate =
              Text([&](BIO* to) { PEM_write_bio_X509(to, issued.get()); }),
          .key = Text([&](BIO* to) {
            PEM_write_bio_PKCS8PrivateKey(to, key.get(), nullptr, nullptr, 0,
                                          nullptr, nullptr);
          })};
}

}  // namespace meshwright
